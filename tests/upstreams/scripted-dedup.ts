/** What a cooperative server remembers: the key of each call and what became of it. */
import type { IncomingHttpHeaders } from 'node:http'
import type { ToolOutcome } from './scripted-tools.ts'

/** What comes of a key that was used: the first outcome once more, or a refusal. */
export type Dedup = 'answer' | 'refuse'

export class Keys {
  /** Calls that came with a key already used. */
  repeats = 0
  readonly #dedup: Dedup
  readonly #outcomes = new Map<string, Promise<ToolOutcome>>()

  constructor(dedup: Dedup) {
    this.#dedup = dedup
  }

  /** Acts once for each key; without one, always. */
  async once(key: string | undefined, act: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
    if (key === undefined) return act()
    const first = this.#outcomes.get(key)
    if (!first) {
      const outcome = act()
      this.#outcomes.set(key, outcome)
      return outcome
    }
    this.repeats++
    if (this.#dedup === 'answer') return first
    return { error: { code: -32009, message: 'that key was used' } }
  }
}

/** The key in the body; undefined when there is none. Throws when the header does not say the same. */
export function keyOf(
  headers: IncomingHttpHeaders,
  meta: Readonly<Record<string, unknown>> | undefined,
): string | undefined {
  const inBody = meta?.['dev.sallyport/idempotency-key']
  const header = headers['idempotency-key']
  const inHeader = header === undefined ? undefined : /^"([!#-[\]-~]+)"$/.exec(String(header))?.[1]
  if (inBody !== inHeader || (header !== undefined && inHeader === undefined))
    throw new Error(`one key in the header and another in the body: ${header}, ${inBody}`)
  return inHeader
}
