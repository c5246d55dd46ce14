/** What crosses the wall between gateway and worker, and the cryptography of it: digests, seals, signatures, frames. */
export * from './digest.ts'
export * from './frames.ts'
export * from './intent.ts'
export * from './jws.ts'
export * from './seal.ts'
export * from './worker-wire.ts'
