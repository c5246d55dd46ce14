/** The reader of frames against bytes that no peer sends, and against another reader that is slow and simple. */
import { FrameReader } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
import { randomFrom } from '../system/random.ts'
import { seedsFor } from './corpus.ts'
import { pieces } from './hostile-bytes.ts'
import { bytesOf, framesIn, hostileRow, type Said } from './hostile-frames.ts'
import { MeasuredRun } from './measured-run.ts'
import { sampleFrames } from './sample-frames.ts'

const staysBelow = 4 * 1024 * 1024

function read(chunks: readonly Buffer[]): { frames: Said[]; isBroken: boolean } {
  const reader = new FrameReader()
  const frames: Said[] = []
  try {
    for (const chunk of chunks) frames.push(...reader.push(chunk))
    return { frames, isBroken: false }
  } catch (thrown) {
    if (!(thrown instanceof RangeError || thrown instanceof SyntaxError)) throw thrown
    return { frames, isBroken: true }
  }
}

let changed = 0

/** Frames that stand whole before the broken one are lost with the chunk they came in: nobody reads on behind it. */
function disagreement(seed: number, reads = read): string | undefined {
  const random = randomFrom(seed)
  const { bytes, changed: count } = hostileRow(random, sampleFrames, [])
  changed += count
  const expected = framesIn(bytes)
  const { frames, isBroken } = reads(pieces(random, bytes))
  if (isBroken !== (expected.end === 'broken')) return `seed ${seed}: broken ${isBroken}`
  const found = isBroken ? expected.frames.slice(0, frames.length) : expected.frames
  const isSame =
    frames.length === found.length && frames.every((one, at) => isEqual(one, found[at]))
  return isSame ? undefined : `seed ${seed}: other frames`
}

const isEqual = (one: Said, other: Said | undefined): boolean =>
  other !== undefined &&
  one.kind === other.kind &&
  one.raw.equals(other.raw) &&
  textOf(one.head) === textOf(other.head)

/** Some are nested deeper than text can be made of. */
function textOf(head: unknown): string {
  try {
    return JSON.stringify(head)
  } catch {
    return 'deep'
  }
}

test('whatever bytes come, in whatever pieces, they are the same frames or an end, and nothing stays', {
  timeout: 300_000,
}, async () => {
  const seeds = seedsFor('codec', 400, 25_000)
  for (const seed of seeds.slice(0, 200)) disagreement(seed)
  changed = 0
  const run = await MeasuredRun.begin()
  expect(seeds.flatMap((seed) => disagreement(seed) ?? [])).toEqual([])
  const stays = await run.end(
    `codec: ${changed} changed frames in ${seeds.length} rows`,
    staysBelow,
  )
  expect(stays).toBeLessThan(staysBelow)
  expect(Object.keys({}.constructor.prototype)).toEqual([])
})

test.each<[string, (chunks: readonly Buffer[]) => ReturnType<typeof read>]>([
  ['loses a frame', (chunks) => ({ ...read(chunks), frames: read(chunks).frames.slice(1) })],
  ['reads on behind what is broken', (chunks) => ({ ...read(chunks), isBroken: false })],
  ['gives a frame the bytes of another', (chunks) => mixedUp(read(chunks))],
])('the control: a reader that %s is found', (_what, reads) => {
  const found = Array.from({ length: 50 }, (_, seed) => disagreement(1 + seed, reads))
  expect(found.filter((one) => one !== undefined).length).toBeGreaterThan(5)
})

function mixedUp({ frames, isBroken }: ReturnType<typeof read>): ReturnType<typeof read> {
  const [first] = frames
  return { isBroken, frames: frames.map((one) => ({ ...one, raw: first?.raw ?? one.raw })) }
}

test('the control: rows that nobody changed are read as they were said', () => {
  const row = framesIn(Buffer.concat(sampleFrames.map(bytesOf)))
  expect(row.end).toBe('whole')
  expect(row.frames.map(({ kind }) => kind)).toEqual(sampleFrames.map(({ kind }) => kind))
})
