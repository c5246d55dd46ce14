/** Searches the memory of a process on a thread of its own: meanwhile the launcher of a guest has to be heard of. */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

export type MemoryNeedles = Readonly<Record<string, readonly Uint8Array[]>>

export interface MemorySearch {
  /** Names of those that there are. */
  readonly found: readonly string[]
  readonly bytes: number
}

/** Finds nothing in 0 bytes when the process is gone, or may not be looked at. */
export function searchMemory(pid: number, needles: MemoryNeedles): Promise<MemorySearch> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL(import.meta.url), { workerData: { pid, needles } })
    thread.once('message', resolve)
    thread.once('error', reject)
  })
}

const pageBytes = 4_096
const chunkPages = 4_096
/** A secret may lie across the end of a chunk. */
const overlap = pageBytes

type Range = readonly [from: number, to: number]

/** Everything that it may write to; programs reserve far more than they use. */
function usedRanges(pid: number, pagemap: number): Range[] {
  const maps = readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')
  return maps.flatMap((line) => {
    const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? []
    return from && to ? usedOf([Number.parseInt(from, 16), Number.parseInt(to, 16)], pagemap) : []
  })
}

/** Bits 63 and 62 of a page's entry: it is in memory, or was moved out. */
function usedOf([from, to]: Range, pagemap: number): Range[] {
  const used: [number, number][] = []
  const entries = Buffer.alloc(chunkPages * 8)
  for (let at = from; at < to; at += chunkPages * pageBytes) {
    const pages = Math.min(chunkPages, (to - at) / pageBytes)
    const read = readAt(pagemap, entries, (at / pageBytes) * 8, pages * 8)
    for (let page = 0; page < read / 8; page++) {
      if ((entries[page * 8 + 7] as number) < 0x40) continue
      const start = at + page * pageBytes
      const last = used.at(-1)
      if (last && last[1] === start) last[1] += pageBytes
      else used.push([start, start + pageBytes])
    }
  }
  return used
}

function search(pid: number, needles: MemoryNeedles): MemorySearch {
  const found = new Set<string>()
  const forms = Object.entries(needles).flatMap(([name, all]) =>
    all.map((form) => ({ name, form: Buffer.from(form) })),
  )
  const buffer = Buffer.alloc(chunkPages * pageBytes)
  let bytes = 0
  const [memory, pagemap] = [
    openSync(`/proc/${pid}/mem`, 'r'),
    openSync(`/proc/${pid}/pagemap`, 'r'),
  ]
  try {
    for (const [from, to] of usedRanges(pid, pagemap))
      for (let at = from; at < to; at += buffer.length - overlap) {
        const size = readAt(memory, buffer, at, Math.min(buffer.length, to - at))
        const chunk = buffer.subarray(0, size)
        bytes += size
        for (const { name, form } of forms)
          if (!found.has(name) && chunk.includes(form)) found.add(name)
      }
  } finally {
    closeSync(memory)
    closeSync(pagemap)
  }
  return { found: [...found], bytes }
}

/** 0 for what the system does not let anybody read. */
function readAt(descriptor: number, buffer: Buffer, at: number, size: number): number {
  try {
    return readSync(descriptor, buffer, 0, size, at)
  } catch {
    return 0
  }
}

if (!isMainThread && workerData?.needles) {
  const { pid, needles } = workerData as { pid: number; needles: MemoryNeedles }
  let result: MemorySearch = { found: [], bytes: 0 }
  try {
    result = search(pid, needles)
  } catch {
    // It has ended.
  }
  parentPort?.postMessage(result)
}
