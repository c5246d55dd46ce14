/** What a process has in its memory, and what of it gets into a core dump. Linux; as its parent, or as root. */
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs'

const chunkBytes = 16 * 1024 * 1024
/** A secret may lie across the end of a chunk. */
const overlap = 4_096

/** Chunks of the ranges, one after the other in the same buffer. */
function* chunksOf(path: string, ranges: (descriptor: number) => Range[]): Generator<Buffer> {
  const descriptor = openSync(path, 'r')
  const buffer = Buffer.alloc(chunkBytes)
  try {
    for (const [from, to] of ranges(descriptor)) {
      for (let at = from; at < to; at += chunkBytes - overlap) {
        const size = readAt(descriptor, buffer, at, Math.min(chunkBytes, to - at))
        if (size > 0) yield buffer.subarray(0, size)
      }
    }
  } finally {
    closeSync(descriptor)
  }
}

type Range = readonly [from: number, to: number]

/** Everything that it may write to. */
function writableRanges(pid: number): Range[] {
  const lines = readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')
  return lines.flatMap((line): Range[] => {
    const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? []
    return from && to ? [[Number.parseInt(from, 16), Number.parseInt(to, 16)]] : []
  })
}

/** 0 for what the system does not let anybody read. */
function readAt(descriptor: number, buffer: Buffer, at: number, size: number): number {
  try {
    return readSync(descriptor, buffer, 0, size, at)
  } catch {
    return 0
  }
}

type Needles = Readonly<Record<string, readonly Buffer[]>>

/** Which of the needles there are, by their names; and how many bytes were looked at. */
export interface Search {
  readonly found: string[]
  readonly bytes: number
}

export function searchMemory(pid: number, needles: Needles): Search {
  return search(
    chunksOf(`/proc/${pid}/mem`, () => writableRanges(pid)),
    needles,
  )
}

export function searchFile(path: string, needles: Needles): Search {
  return search(
    chunksOf(path, (descriptor) => [[0, fstatSync(descriptor).size]]),
    needles,
  )
}

function search(chunks: Iterable<Buffer>, needles: Needles): Search {
  const found = new Set<string>()
  let bytes = 0
  for (const chunk of chunks) {
    bytes += chunk.length
    for (const [name, forms] of Object.entries(needles))
      if (!found.has(name) && forms.some((form) => chunk.includes(form))) found.add(name)
  }
  return { found: [...found], bytes }
}
