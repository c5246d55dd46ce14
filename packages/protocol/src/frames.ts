/**
 * Frames between gateway and worker: u32 length of what follows, u8 kind, u32 length of the head, head (JSON), raw bytes.
 * A longer frame than the limit ends the connection.
 */
export const frameLimit = 32 * 1024 * 1024

export const frameKinds = [
  'hello',
  'intents',
  'body',
  'committed',
  'abort',
  'result',
  'progress',
  'settled',
  'recover',
  'recovered',
  'cancel',
  'lease',
  'release',
  'observed',
  'webhook',
  'ping',
  'pong',
  'late',
  'vault',
] as const
export type FrameKind = (typeof frameKinds)[number]

export interface Frame {
  readonly kind: FrameKind
  readonly head: unknown
  readonly raw: Buffer
}

const prefix = 9
const numbers = new Map(frameKinds.map((kind, index) => [kind, index + 1]))

/** One frame; a raw part that is text goes in as UTF-8. Throws RangeError when it is over the limit. */
export function encodeFrame(
  kind: FrameKind,
  head: unknown,
  ...raw: (Uint8Array | string)[]
): Buffer {
  const text = JSON.stringify(head)
  const headSize = Buffer.byteLength(text)
  const rawSize = raw.reduce((sum, part) => sum + Buffer.byteLength(part), 0)
  const size = 5 + headSize + rawSize
  if (size > frameLimit) throw new RangeError('frame over the limit')
  const frame = Buffer.allocUnsafe(4 + size)
  frame.writeUInt32BE(size, 0)
  frame[4] = numbers.get(kind) as number
  frame.writeUInt32BE(headSize, 5)
  frame.write(text, prefix)
  let at = prefix + headSize
  for (const part of raw) {
    if (typeof part === 'string') at += frame.write(part, at)
    else {
      frame.set(part, at)
      at += part.byteLength
    }
  }
  return frame
}

/** Cuts a byte stream into frames. `push` throws RangeError or SyntaxError for what no peer of ours sends. */
export class FrameReader {
  #chunks: Buffer[] = []
  #size = 0

  push(chunk: Buffer): Frame[] {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    const frames: Frame[] = []
    for (let frame = this.#next(); frame; frame = this.#next()) frames.push(frame)
    return frames
  }

  #next(): Frame | undefined {
    if (this.#size < 4) return undefined
    const size = this.#peek(4).readUInt32BE(0)
    if (size > frameLimit || size < 5) throw new RangeError('frame length out of bounds')
    if (this.#size < 4 + size) return undefined
    const bytes = this.#take(4 + size)
    const kind = frameKinds[(bytes[4] as number) - 1]
    const headSize = bytes.readUInt32BE(5)
    if (!kind || headSize > size - 5) throw new RangeError('frame malformed')
    return {
      kind,
      head: JSON.parse(bytes.toString('utf8', prefix, prefix + headSize)),
      raw: bytes.subarray(prefix + headSize),
    }
  }

  #peek(count: number): Buffer {
    const first = this.#chunks[0] as Buffer
    if (first.length >= count) return first
    this.#chunks = [Buffer.concat(this.#chunks)]
    return this.#chunks[0] as Buffer
  }

  #take(count: number): Buffer {
    const first = this.#peek(count)
    this.#size -= count
    if (first.length === count) this.#chunks.shift()
    else this.#chunks[0] = first.subarray(count)
    return first.subarray(0, count)
  }
}
