import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'

const lookEveryMs = 50

/** Looks until what it sees will do, and resolves with that. Throws with what it saw last after `ms`. */
export async function eventually<T>(
  look: () => T | Promise<T>,
  willDo: (seen: T) => boolean,
  ms = 5_000,
): Promise<T> {
  const until = performance.now() + ms
  for (;;) {
    const seen = await look()
    if (willDo(seen)) return seen
    if (performance.now() > until) throw new Error(`still after ${ms} ms: ${inspect(seen)}`)
    await sleep(lookEveryMs)
  }
}
