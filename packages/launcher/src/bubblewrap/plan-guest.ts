import { namespaceKinds, type SandboxPlan } from '@sallyport/protocol'
import { digestBytes, digestOf } from '@sallyport/protocol/node'
import type { Architecture } from '@sallyport/protocol/seccomp'
import { checkEnvironment, type Environment } from '../guest/environment.ts'
import { gateWords } from '../guest/gate.ts'
import { readHostMounts } from '../guest/host-mounts.ts'
import { guestLimits } from '../guest/limits.ts'
import { guestPlaces, guestUser } from '../guest/places.ts'
import { plannedDescriptors } from '../guest/planned-descriptors.ts'
import { ownUser } from '../process/own-user.ts'
import type { GuestSpec } from '../sandbox.ts'
import { seccompFilter } from '../seccomp/filter.ts'
import { type Entry, layoutOf } from './layout.ts'
import { plannedMounts } from './planned-mounts.ts'

/** All there is to know to make it: what the plan says in words for others, and what only the making needs. */
export interface BubblewrapGuest {
  readonly spec: GuestSpec
  readonly plan: SandboxPlan
  readonly layout: readonly Entry[]
  readonly environment: Environment
  readonly seccomp: Uint8Array
  /** The gate's, then the guest's. */
  readonly words: readonly string[]
}

export function planGuest(spec: GuestSpec, architecture: Architecture): BubblewrapGuest {
  checkEnvironment(spec.environment)
  const environment = { ...ownEnvironment, ...spec.environment }
  const { temporaryKiB, ...limits } = guestLimits(spec)
  const user = ownUser()
  const layout = layoutOf({ spec, temporaryKiB, hostUid: user.hostUid })
  const nesting = spec.nesting ?? false
  const seccomp = seccompFilter(architecture, { nesting })
  const words = [...gateWords({ limits, place: 'first' }), ...spec.command]
  const plan: SandboxPlan = {
    version: 1,
    isolation: 'bubblewrap',
    command: digestOf(words),
    // bubblewrap sets PWD where it changes to.
    environment: [...new Set([...Object.keys(environment), 'PWD'])].sort(),
    user: { uid: guestUser.uid, gid: guestUser.gid, ...user },
    namespaces: [...namespaceKinds],
    nesting,
    network: 'none',
    mounts: plannedMounts(layout, readHostMounts(), user.hostUid),
    descriptors: plannedDescriptors(spec.stdio),
    seccomp: { digest: digestBytes(seccomp) },
    limits: { ...limits, coreBytes: 0 },
    ...(spec.reach === undefined ? {} : { reach: spec.reach }),
  }
  return { spec, plan, layout, environment, seccomp, words }
}

const ownEnvironment: Environment = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  HOME: guestPlaces.home,
  TMPDIR: guestPlaces.temporary,
  USER: guestUser.name,
  LOGNAME: guestUser.name,
  SHELL: '/bin/sh',
}
