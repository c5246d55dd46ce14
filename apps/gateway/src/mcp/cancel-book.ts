/**
 * Explicit cancellations of one Sallyport session, by scope (the client's Mcp-Session-Id, or none) and JSON-RPC id. A cancel
 * may overtake its call, and clients cancel calls that are long answered; both are told apart here.
 */
import { Register } from '@sallyport/protocol'

const keepMs = 60_000
const pastLimit = 1_000
const idLimit = 256

export interface RunningCall {
  readonly signal: AbortSignal
  /** Ends the call's part in the book; later cancels of it are ignored. */
  end(): void
}

export class CancelBook {
  readonly #now: () => number
  readonly #running = new Register<string, Set<AbortController>>()
  /** Oldest first: calls that ended, and cancels whose call has not come. */
  readonly #past = new Map<string, { readonly kind: 'ended' | 'cancelled'; readonly at: number }>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** A call that begins, or undefined when its cancel came first; that cancel is then used up. */
  begin(scope: string, id: string, controller: AbortController): RunningCall | undefined {
    const key = keyOf(scope, id)
    if (key === undefined) return { signal: controller.signal, end: () => {} }
    this.#forget()
    if (this.#past.get(key)?.kind === 'cancelled') {
      this.#remember(key, 'ended')
      return undefined
    }
    const sameId = this.#running.get(key) ?? new Set()
    this.#running.set(key, sameId.add(controller))
    return { signal: controller.signal, end: () => this.#end(key, controller) }
  }

  /** Aborts the running call of that id, or waits a minute for it. Does nothing for one that has ended. */
  cancel(scope: string, id: string): void {
    const key = keyOf(scope, id)
    if (key === undefined) return
    this.#forget()
    const running = this.#running.get(key)
    if (running) for (const controller of running) controller.abort('cancelled')
    else if (!this.#past.has(key)) this.#remember(key, 'cancelled')
  }

  #end(key: string, controller: AbortController): void {
    const sameId = this.#running.get(key)
    if (!sameId?.delete(controller)) return
    if (sameId.size === 0) this.#running.delete(key)
    this.#remember(key, 'ended')
  }

  #remember(key: string, kind: 'ended' | 'cancelled'): void {
    this.#past.delete(key)
    this.#past.set(key, { kind, at: this.#now() })
  }

  #forget(): void {
    const horizon = this.#now() - keepMs
    for (const [key, { at }] of this.#past) {
      if (at > horizon && this.#past.size <= pastLimit) return
      this.#past.delete(key)
    }
  }
}

/** `1` and `"1"` are two ids; `"a"` and `"\u0061"` are one. Ids longer than any client's are not kept. */
function keyOf(scope: string, id: string): string | undefined {
  if (id.length > idLimit) return undefined
  const same = id.includes('\\') ? JSON.stringify(JSON.parse(id)) : id
  return `${scope} ${same}`
}
