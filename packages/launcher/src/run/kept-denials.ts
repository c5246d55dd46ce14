/** Keeps a guest from what it is denied: whatever is denied later is enforced first and confirmed then. */
import { type DenySet, SallyportError } from '@sallyport/protocol'
import { denySetDigest } from '@sallyport/protocol/node'
import type { SessionPort } from './session-port.ts'

export interface KeptDenialsOptions {
  readonly port: Pick<SessionPort, 'denySet' | 'confirm'>
  readonly session: string
  readonly ownerKey: string
  /** What it is denied at its beginning. */
  readonly first: DenySet
  /** Without walls nothing is enforced, and nothing said. */
  readonly hasWalls: boolean
  /** Resolves when the set is in force. */
  readonly deny: (set: DenySet) => Promise<void>
}

/** Between what is read and what is said about it another change may come. */
const attempts = 5

export class KeptDenials {
  readonly #options: KeptDenialsOptions
  #set: DenySet
  #isBegun = false

  constructor(options: KeptDenialsOptions) {
    this.#options = options
    this.#set = options.first
  }

  /** Before the guest runs. */
  async begin(): Promise<void> {
    if (!this.#options.hasWalls) return
    await this.#enforce(this.#set)
    this.#isBegun = true
  }

  /** The gateway denies this revision now. */
  async hear(revision: number): Promise<void> {
    // Until it has begun, what is shown of the sandbox says it.
    if (!this.#isBegun || revision <= this.#set.revision) return
    const { port, session, ownerKey } = this.#options
    await this.#renew()
    await this.say((denySet) => port.confirm(session, { ownerKey, ...denySet }))
  }

  /** Tells somebody what is enforced; when that is not the newest any more, the newest is enforced and told. */
  async say(
    say: (denySet: { readonly revision: number; readonly digest: string }) => Promise<unknown>,
  ): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const { revision, digest } = this.#set
      try {
        await say({ revision, digest })
        return
      } catch (error) {
        if (attempt === attempts || !isMoved(error)) throw error
        await this.#renew()
      }
    }
  }

  async #renew(): Promise<void> {
    await this.#enforce(await this.#options.port.denySet(this.#options.session))
  }

  async #enforce(set: DenySet): Promise<void> {
    // What is confirmed is what was read, all of it.
    if (denySetDigest(set.revision, set.entries) !== set.digest)
      throw new SallyportError('deny_set_mismatch')
    await this.#options.deny(set)
    this.#set = set
  }
}

function isMoved(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown }
  return code === 'deny_set_mismatch' || code === 'deny_set_unconfirmed'
}
