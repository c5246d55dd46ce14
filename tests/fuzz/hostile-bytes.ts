/** Bytes that were right, changed at one place. */
import type { Random } from '../system/random.ts'

const evilBytes: readonly Buffer[] = [
  ...['00', 'ff', 'c0af', 'eda080', 'f4908080', 'efbbbf', '0d0a', '0a0a', '0d0a0d0a', 'e280a8'].map(
    (hex) => Buffer.from(hex, 'hex'),
  ),
  ...['{', '}', '[', '"', '\\', ',', ':', '\n\n', 'data: ', 'null', '\\u0000'].map((text) =>
    Buffer.from(text),
  ),
]

export function changedBytes(random: Random, bytes: Buffer): Buffer {
  if (bytes.length === 0) return random.pick(evilBytes)
  const [from, to] = [random.below(bytes.length + 1), random.below(bytes.length + 1)].toSorted(
    (one, other) => one - other,
  ) as [number, number]
  switch (random.below(7)) {
    case 0:
      return bytes.subarray(0, from)
    case 1:
      return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)])
    case 2:
      return Buffer.concat([bytes.subarray(0, to), bytes.subarray(from)])
    case 3:
      return Buffer.concat([bytes.subarray(from), bytes.subarray(0, from)])
    case 4: {
      const flipped = Buffer.from(bytes)
      const at = random.below(bytes.length)
      flipped[at] = (flipped[at] as number) ^ (1 << random.below(8))
      return flipped
    }
    case 5:
      return Buffer.concat([bytes.subarray(0, from), random.pick(evilBytes)])
    default:
      return Buffer.concat([bytes.subarray(0, from), random.pick(evilBytes), bytes.subarray(from)])
  }
}

/** The same bytes in pieces. */
export function pieces(random: Random, bytes: Buffer, most = 4): Buffer[] {
  const cuts = Array.from({ length: random.below(most) }, () => random.below(bytes.length + 1))
  const ends = [...cuts.toSorted((one, other) => one - other), bytes.length]
  return ends.map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end))
}
