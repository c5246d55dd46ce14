/** What one call that waits costs the gateway: descriptors, and memory that is its own. Linux only. */
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { LabWorld } from './lab-world.ts'

export interface HeldCost {
  readonly calls: number
  readonly descriptorsEach: number
  /** Proportional set size; undefined where the kernel does not let it be read. */
  readonly pssKibEach: number | undefined
  readonly rssKibEach: number
}

/** As many as a session may have waiting. */
const perSession = 8

/** Of the second so many: the first grow pools that stay. */
export async function measureHeld(world: LabWorld, calls: number): Promise<HeldCost> {
  const leave = new AbortController()
  // A response that nobody knows of any more would be collected, and its connection closed.
  const waiting: Response[] = []
  try {
    waiting.push(...(await hold(world, calls, leave.signal)))
    const first = held(world.sallyport.pid)
    waiting.push(...(await hold(world, calls, leave.signal)))
    const second = held(world.sallyport.pid)
    const each = (before: number, after: number) => (after - before) / calls
    return {
      calls,
      descriptorsEach: each(first.descriptors, second.descriptors),
      rssKibEach: each(first.rssKib, second.rssKib),
      pssKibEach:
        first.pssKib === undefined || second.pssKib === undefined
          ? undefined
          : each(first.pssKib, second.pssKib),
    }
  } finally {
    leave.abort()
    await Promise.allSettled(waiting.map((response) => response.text()))
  }
}

async function hold(world: LabWorld, calls: number, signal: AbortSignal): Promise<Response[]> {
  const waiting: Response[] = []
  for (let held = 0; held < calls; held += perSession) {
    const { endpoint, token } = await world.openSession('warm')
    const count = Math.min(perSession, calls - held)
    const some = Array.from({ length: count }, () => holdOne(endpoint, token, signal))
    waiting.push(...(await Promise.all(some)))
  }
  return waiting
}

/** Resolves when the head of the answer has come, which is when the call is held. */
async function holdOne(endpoint: string, token: string, signal: AbortSignal): Promise<Response> {
  const params = { name: 'store', arguments: { id: randomUUID() } }
  const response = await fetch(endpoint, {
    method: 'POST',
    signal,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  })
  const type = response.headers.get('content-type') ?? ''
  if (!type.startsWith('text/event-stream'))
    throw new Error(`not held: ${response.status} ${await response.text()}`)
  return response
}

function held(pid: number) {
  const rollup = rollupOf(pid)
  const kib = (text: string, name: string): number | undefined => {
    const found = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]
    return found === undefined ? undefined : Number(found)
  }
  return {
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    rssKib: kib(readFileSync(`/proc/${pid}/status`, 'utf8'), 'VmRSS') ?? Number.NaN,
    pssKib: kib(rollup, 'Pss'),
  }
}

/** Empty where only a tracer may read it. */
function rollupOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  } catch {
    return ''
  }
}
