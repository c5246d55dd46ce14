/** What of the network a guest is to reach, decided before anything is made, and what it is told of it. */
import { SallyportError, type SandboxClass, type SandboxPlan } from '@sallyport/protocol'
import type { Environment } from '../guest/environment.ts'
import type { ModelAccess } from '../model-relay/model-access.ts'
import { modelProviders } from '../model-relay/model-provider.ts'
import { type ModelUpstream, originOf } from '../model-relay/model-upstream.ts'

export interface GuestReach {
  /** Relayed, with the key outside. */
  readonly model?: RelayedModel
  /** The key is in the guest, in this variable: said explicitly, and shown in the session. */
  readonly keyInside?: { readonly variable: string; readonly key: string }
  /** As `AllowedHosts` reads them. */
  readonly hosts: readonly string[]
}

export interface RelayedModel {
  readonly upstream: ModelUpstream
  /** Absent for a model of this machine that wants none. */
  readonly key?: string
}

/** On the guest's own loopback, which nobody else is on. */
export const guestPorts = { model: 7421, proxy: 7422 } as const
const modelVariable = 'SANDBOX_MODEL_URL'

export function modelAccess({ provider, base }: ModelUpstream): ModelAccess {
  return { provider, baseUrl: `http://127.0.0.1:${guestPorts.model}${base}` }
}

/** For a guest without walls: it reaches the service itself. */
export function directModelAccess(upstream: ModelUpstream, hasKey: boolean): ModelAccess {
  const { provider, base } = upstream
  const access = { provider, baseUrl: `${originOf(upstream)}${base}` }
  return hasKey ? { ...access, isKeyInside: true } : access
}

/** The key goes into the guest by its provider's own variable; the provider's host can then be reached. */
export function reachWithKeyInside(
  { provider, host, port }: ModelUpstream,
  key: string,
  hosts: readonly string[],
): GuestReach {
  const [variable] = modelProviders[provider].variables
  return { keyInside: { variable, key }, hosts: [...hosts, `${host}:${port}`] }
}

/** Throws `model_key_exposed` where everybody on the machine could use the relay, and nothing could be kept from the guest. */
export function checkReach(reach: GuestReach | undefined, isolation: SandboxClass): void {
  const needsWalls = reach?.model !== undefined || (reach?.hosts.length ?? 0) > 0
  if (isolation === 'none' && needsWalls) throw new SallyportError('model_key_exposed')
}

export function plannedReach(reach: GuestReach | undefined): SandboxPlan['reach'] {
  if (!reach) return undefined
  const { model, keyInside, hosts } = reach
  const outside = model?.key === undefined ? null : 'outside'
  return {
    model: model ? originOf(model.upstream) : null,
    modelKey: keyInside ? 'inside' : outside,
    hosts: [...hosts],
  }
}

export function reachEnvironment(reach: GuestReach | undefined): Environment {
  const { model, keyInside, hosts = [] } = reach ?? {}
  const proxy = `http://127.0.0.1:${guestPorts.proxy}`
  return {
    ...(model ? { [modelVariable]: modelAccess(model.upstream).baseUrl } : {}),
    ...(keyInside ? { [keyInside.variable]: keyInside.key } : {}),
    ...(hosts.length > 0
      ? {
          HTTPS_PROXY: proxy,
          https_proxy: proxy,
          NO_PROXY: 'localhost,127.0.0.1,::1',
          no_proxy: 'localhost,127.0.0.1,::1',
          // Node asks for the others only when it is told to.
          NODE_USE_ENV_PROXY: '1',
        }
      : {}),
  }
}
