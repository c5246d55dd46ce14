/** What crosses the wall between gateway and worker, and the cryptography of it: digests, seals, signatures, frames. */
export * from './certificate-kid.ts'
export * from './certificates.ts'
export * from './data-folder.ts'
export * from './digest.ts'
export * from './frames.ts'
export * from './intent.ts'
export { type JournalHead, signCheckpoint } from './journal/checkpoint.ts'
export * from './journal/event.ts'
export type { ExecutionRecord, ExecutionRow } from './journal/execution-book.ts'
export { type Finding, findingKinds } from './journal/finding.ts'
export {
  type JournalJwk,
  type JournalSigner,
  journalJwk,
  journalKid,
} from './journal/journal-key.ts'
export { type JournalReport, JournalVerifier } from './journal/journal-verifier.ts'
export * from './journal/line.ts'
export { batchOf, composePage, type PageText, signOpening } from './journal/page.ts'
export { coveredWithinMs } from './journal/stream-book.ts'
export * from './jws.ts'
export * from './seal.ts'
export * from './seal-book.ts'
export * from './seal-connection.ts'
export * from './tool-digest.ts'
export * from './worker-wire.ts'
