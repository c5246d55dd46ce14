import { Transform, type TransformCallback } from 'node:stream'
import { SallyportError } from '@sallyport/protocol'

/** Passes bytes on; fails with `too_large` at the first beyond its limit. */
export class Counted extends Transform {
  #left: number

  constructor(bytes: number) {
    super()
    this.#left = bytes
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    this.#left -= chunk.length
    if (this.#left < 0) done(new SallyportError('too_large'))
    else done(null, chunk)
  }
}
