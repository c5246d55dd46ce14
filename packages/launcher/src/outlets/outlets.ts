/**
 * The ways out of one guest: sockets in its channel, served here, and a forwarder inside that leads to them. They listen
 * before the guest is made, let nobody in before it was verified, and end with the run.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type DenySet, SallyportError, type SandboxEvidence } from '@sallyport/protocol'
import { inside } from '../harness/guest-shim.ts'
import { ModelRelay } from '../model-relay/model-relay.ts'
import { AllowedHosts } from '../proxy/allowed-hosts.ts'
import { ForwardProxy } from '../proxy/forward-proxy.ts'
import type { GuestMount } from '../sandbox.ts'
import { GuestDoor } from './admit-guest.ts'
import { Denials } from './denials.ts'
import { type GuestReach, guestPorts } from './guest-reach.ts'
import { systemResolve } from './reach.ts'

const forwarder = {
  from: fileURLToPath(new URL('./forwarder.mjs', import.meta.url)),
  at: '/opt/sallyport/forwarder.mjs',
} as const
const sockets = { model: 'model.sock', proxy: 'proxy.sock' } as const

/** What of a guest's command and mounts its forwarder takes. */
export interface Forwarding {
  /** Before the words of the command. */
  readonly words: readonly string[]
  readonly mounts: readonly GuestMount[]
}

/** `channel`: where the guest sees it. */
export function forwardingFor(reach: GuestReach | undefined, channel: string): Forwarding {
  const { model, hosts = [] } = reach ?? {}
  const ways = [
    ...(model ? [`${guestPorts.model}=${channel}/${sockets.model}`] : []),
    ...(hosts.length > 0 ? [`${guestPorts.proxy}=${channel}/${sockets.proxy}`] : []),
  ]
  if (ways.length === 0) return { words: [], mounts: [] }
  return { words: [inside.node, forwarder.at, ...ways, '--'], mounts: [forwarder] }
}

export class Outlets {
  readonly #door = new GuestDoor()
  readonly #denials: Denials
  #relay: ModelRelay | undefined
  #proxy: ForwardProxy | undefined

  /** `folder`: the channel, on the host. Rejects with `bad_host_rule`, and when there can be no socket. */
  static async open(reach: GuestReach | undefined, folder: string): Promise<Outlets> {
    const outlets = new Outlets()
    try {
      await outlets.#open(reach, folder)
      return outlets
    } catch (thrown) {
      await outlets.close()
      throw thrown
    }
  }

  private constructor() {
    const onGrown = (): void => {
      this.#relay?.endDenied()
      this.#proxy?.endDenied()
    }
    this.#denials = new Denials({ resolve: systemResolve, onGrown })
  }

  /** The newest set that is in force. */
  get denied(): number {
    return this.#denials.revision
  }

  /** Resolves when it is in force; only then may it be confirmed. */
  deny(set: DenySet): Promise<void> {
    return this.#denials.replace(set)
  }

  /** Throws `host_denied` for a model that the guest could never reach, before anything is made. */
  checkModel(): void {
    if (this.#relay?.isDenied()) throw new SallyportError('host_denied', { field: 'model' })
  }

  /** From now on the guest that was seen may come in, and nobody else. */
  openFor(evidence: SandboxEvidence): void {
    this.#door.openFor(evidence)
  }

  async close(): Promise<void> {
    await Promise.all([this.#relay?.close(), this.#proxy?.close()])
  }

  async #open(reach: GuestReach | undefined, folder: string): Promise<void> {
    const { model, hosts = [] } = reach ?? {}
    const shared = { denials: this.#denials, resolve: systemResolve, admits: this.#door.admits }
    if (hosts.length > 0) {
      const allowed = new AllowedHosts(hosts)
      const socketPath = join(folder, sockets.proxy)
      this.#proxy = await ForwardProxy.open({ ...shared, allowed, socketPath })
    }
    if (model) {
      const { upstream, key } = model
      const socketPath = join(folder, sockets.model)
      this.#relay = await ModelRelay.open({ ...shared, upstream, key, socketPath })
    }
  }
}
