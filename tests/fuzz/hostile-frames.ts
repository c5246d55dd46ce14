/** Frames between gateway and worker that no peer of ours would send, made of frames that one would. */
import { encodeFrame, type FrameKind, frameKinds, frameLimit } from '@sallyport/protocol/node'
import type { Random } from '../system/random.ts'
import { changedBytes } from './hostile-bytes.ts'
import { changedJson, leavesOf } from './hostile-json.ts'

export interface Said {
  readonly kind: FrameKind
  readonly head: unknown
  readonly raw: Buffer
}

export const bytesOf = ({ kind, head, raw }: Said): Buffer => encodeFrame(kind, head, raw)

/** A frame, with nothing checked. */
function assemble(
  kind: number,
  head: Buffer,
  raw: Buffer,
  size?: number,
  headSize?: number,
): Buffer {
  const prefix = Buffer.alloc(9)
  prefix.writeUInt32BE(size ?? 5 + head.length + raw.length, 0)
  prefix[4] = kind
  prefix.writeUInt32BE(headSize ?? head.length, 5)
  return Buffer.concat([prefix, head, raw])
}

const numberOf = (kind: FrameKind): number => frameKinds.indexOf(kind) + 1
const sizes = [0, 4, 5, 6, 255, 65_536, frameLimit, frameLimit + 1, 2 ** 31, 2 ** 32 - 1]

/** `pool`: ids and digests that are right at other places. */
export function changedFrame(random: Random, said: Said, pool: readonly unknown[]): Buffer {
  const kind = numberOf(said.kind)
  const head = Buffer.from(JSON.stringify(said.head))
  const words = [...pool, ...leavesOf(said.head)]
  switch (random.below(12)) {
    case 0:
      return assemble(1 + random.below(frameKinds.length), head, said.raw)
    case 1:
      return assemble(kind, head, changedBytes(random, said.raw))
    case 2:
      return assemble(kind, head, said.raw, random.pick(sizes))
    case 3: {
      const headSize = random.pick([...sizes, head.length + 1, Math.max(0, head.length - 1)])
      return assemble(kind, head, said.raw, undefined, headSize)
    }
    case 4:
      return changedBytes(random, assemble(kind, head, said.raw))
    case 5:
      return assemble(kind, changedBytes(random, head), said.raw)
    case 6:
      return assemble(random.below(256), head, said.raw)
    default:
      return assemble(kind, Buffer.from(changedJson(random, said.head, words)), said.raw)
  }
}

/** What becomes of a row of frames: some are changed, left out, said twice, or said in another order. */
export function hostileRow(
  random: Random,
  said: readonly Said[],
  pool: readonly unknown[],
): { readonly bytes: Buffer; readonly changed: number } {
  const order = [...said]
  let changed = 0
  for (let n = random.below(3); n > 0 && order.length > 1; n--) {
    const at = random.below(order.length)
    const [one] = order.splice(at, 1) as [Said]
    const times = random.below(3)
    for (let again = 0; again < times; again++) order.splice(random.below(order.length + 1), 0, one)
    changed++
  }
  const share = random.pick([0.05, 0.2, 0.7])
  const parts = order.map((one) => {
    if (random.next() > share) return bytesOf(one)
    changed++
    return changedFrame(random, one, pool)
  })
  return { bytes: Buffer.concat(parts), changed }
}

/** What a reader has to find, told by somebody who has all of it at once and reads slowly. */
export interface Found {
  readonly frames: readonly Said[]
  /** Why it ends: in order, in the middle of a frame, or at something that is none. */
  readonly end: 'whole' | 'partial' | 'broken'
}

export function framesIn(bytes: Buffer): Found {
  const frames: Said[] = []
  for (let at = 0; at < bytes.length; ) {
    if (bytes.length - at < 4) return { frames, end: 'partial' }
    const size = bytes.readUInt32BE(at)
    if (size < 5 || size > frameLimit) return { frames, end: 'broken' }
    if (bytes.length - at < 4 + size) return { frames, end: 'partial' }
    const kind = frameKinds[(bytes[at + 4] as number) - 1]
    const headSize = bytes.readUInt32BE(at + 5)
    if (kind === undefined || 5 + headSize > size) return { frames, end: 'broken' }
    const headEnd = at + 9 + headSize
    try {
      const head: unknown = JSON.parse(bytes.toString('utf8', at + 9, headEnd))
      frames.push({ kind, head, raw: bytes.subarray(headEnd, at + 4 + size) })
    } catch {
      return { frames, end: 'broken' }
    }
    at += 4 + size
  }
  return { frames, end: 'whole' }
}
