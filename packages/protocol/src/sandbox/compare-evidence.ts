/**
 * The one judgement about a sandbox, made twice: by the launcher before it lets a guest go, and by the gateway before it
 * opens the session. Whatever differs is named; an empty list is the only thing that counts as verified.
 */
import { compareMounts } from './compare-mounts.ts'
import type { SandboxEvidence } from './evidence.ts'
import { differ, type Mismatch } from './mismatch.ts'
import { namespaceKinds, type SandboxPlan } from './plan.ts'

/** `held`: nothing of the guest has run. What a guest that runs may change of itself is then not compared any more. */
export type GuestPhase = 'held' | 'running'

export function compareEvidence(
  plan: SandboxPlan,
  seen: SandboxEvidence,
  phase: GuestPhase = 'held',
): readonly Mismatch[] {
  const both = [
    differ('isolation', plan.isolation, seen.isolation),
    differ('uids', repeated(plan.user.hostUid), seen.uids),
    differ('gids', repeated(plan.user.hostGid), seen.gids),
    phase === 'held' ? compareHeld(plan, seen) : [],
  ].flat()
  return plan.isolation === 'none' ? both : [...both, ...compareWalls(plan, seen, phase)]
}

function compareHeld(plan: SandboxPlan, seen: SandboxEvidence): readonly Mismatch[] {
  return [
    ...differ('command', plan.command, seen.command),
    ...differ('environment', plan.environment, seen.environment),
    ...differ('descriptors', plan.descriptors.map(told), seen.descriptors.map(told)),
  ]
}

function compareWalls(
  plan: SandboxPlan,
  seen: SandboxEvidence,
  phase: GuestPhase,
): readonly Mismatch[] {
  const { user } = plan
  return [
    ...compareNamespaces(plan, seen),
    ...differ('first process', true, seen.isFirst),
    ...(phase === 'held' ? differ('processes', 1, seen.processes) : []),
    ...differ('uid map', `${user.uid} ${user.hostUid} 1`, seen.uidMap),
    ...differ('gid map', `${user.gid} ${user.hostGid} 1`, seen.gidMap),
    ...differ('groups', others(user.hostGroups, user), others(seen.groups, user)),
    ...compareCapabilities(seen),
    ...differ('no new privileges', true, seen.noNewPrivileges),
    ...differ('seccomp', plan.seccomp ? 'mode 2, 1 filter' : 'mode 0, 0 filter', seccompOf(seen)),
    ...compareMounts(plan.mounts, seen.mounts),
    ...compareNetwork(plan, seen),
    ...compareLimits(plan, seen),
  ]
}

function compareNamespaces(plan: SandboxPlan, seen: SandboxEvidence): readonly Mismatch[] {
  return namespaceKinds.flatMap((kind) => {
    const found = seen.namespaces.find((one) => one.kind === kind)
    const isOwn = plan.namespaces.includes(kind)
    return differ(`${kind} namespace`, isOwn ? 'own' : 'shared', sharing(found))
  })
}

function sharing(found: SandboxEvidence['namespaces'][number] | undefined): string {
  if (found === undefined) return 'not seen'
  return found.guest === found.host ? 'shared' : 'own'
}

function compareCapabilities({ capabilities }: SandboxEvidence): readonly Mismatch[] {
  return Object.entries(capabilities).flatMap(([set, found]) =>
    differ(`${set} capabilities`, 'none', /^0+$/.test(found) ? 'none' : found),
  )
}

function compareNetwork(plan: SandboxPlan, { network }: SandboxEvidence): readonly Mismatch[] {
  if (plan.network === 'shared') return []
  return [
    ...differ('interfaces', ['lo'], network.interfaces),
    ...differ('routes', 0, network.routes),
  ]
}

function compareLimits({ limits }: SandboxPlan, seen: SandboxEvidence): readonly Mismatch[] {
  if (limits === null) return []
  return [
    ...differ('process limit', limits.processes, seen.limits.processes),
    ...differ('open file limit', limits.openFiles, seen.limits.openFiles),
    ...differ('core limit', limits.coreBytes, seen.limits.coreBytes),
  ]
}

function seccompOf({ seccomp: { mode, filters } }: SandboxEvidence): string {
  return `mode ${mode}, ${filters} filter`
}

const told = ({ fd, is }: { fd: number; is: string }): string => `${fd} ${is}`
const repeated = (id: number): number[] => [id, id, id, id]

/** The group of the process itself may be listed among the others or not. */
function others(groups: readonly number[], { hostGid }: SandboxPlan['user']): number[] {
  return groups.filter((group) => group !== hostGid).sort((a, b) => a - b)
}
