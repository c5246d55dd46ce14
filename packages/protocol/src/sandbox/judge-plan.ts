import { differ, type Mismatch } from './mismatch.ts'
import { namespaceKinds, type SandboxPlan } from './plan.ts'

/**
 * What a plan must say to be of its class, whatever else it says: matching evidence proves that a sandbox is as planned,
 * this that it was planned as one. Class `none` promises nothing, so nothing is asked of it.
 */
export function judgePlan(plan: SandboxPlan): readonly Mismatch[] {
  if (plan.isolation === 'none') return []
  return [
    ...differ('planned namespaces', namespaceKinds, orderedNamespaces(plan)),
    ...differ('planned network', 'none', plan.network),
    ...differ('planned seccomp', 'a filter', plan.seccomp === null ? 'none' : 'a filter'),
    ...differ('planned limits', 'limits', plan.limits === null ? 'none' : 'limits'),
    ...differ('planned user', 'not root', plan.user.uid === 0 ? 'root' : 'not root'),
  ]
}

const orderedNamespaces = ({ namespaces }: SandboxPlan) =>
  namespaceKinds.filter((kind) => namespaces.includes(kind))
