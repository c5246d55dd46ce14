import { namespaceKinds, type SandboxEvidence } from '@sallyport/protocol'
import { allProcesses } from '../process/born-process.ts'
import { namespaceId } from './proc-file.ts'

/** Those of a process beside those of this one. */
export function readNamespaces(pid: number): SandboxEvidence['namespaces'] {
  return namespaceKinds.map((kind) => ({
    kind,
    guest: namespaceId(pid, kind),
    host: namespaceId('self', kind),
  }))
}

/**
 * Processes in any of these namespaces. One of another user cannot be looked at, and cannot be in a namespace that only
 * this user is mapped into.
 */
export function processesIn(namespaces: SandboxEvidence['namespaces']): number[] {
  const own = namespaces.filter(({ guest, host }) => guest !== host)
  return allProcesses().filter((pid) => own.some(({ kind, guest }) => isIn(pid, kind, guest)))
}

function isIn(pid: number, kind: string, id: string): boolean {
  try {
    return namespaceId(pid, kind) === id
  } catch {
    // Gone meanwhile, a kernel thread, or another user's.
    return false
  }
}
