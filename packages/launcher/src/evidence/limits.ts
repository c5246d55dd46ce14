/** /proc/PID/limits, the hard ones: the others a process may raise by itself. */
import type { SandboxEvidence } from '@sallyport/protocol'

const unlimited = Number.MAX_SAFE_INTEGER

export function parseLimits(text: string): SandboxEvidence['limits'] {
  const hard = (name: string): number => {
    const found = new RegExp(`^${name} +\\S+ +(\\S+) `, 'm').exec(text)?.[1]
    if (found === undefined) throw new Error(`limits without ${name}`)
    return found === 'unlimited' ? unlimited : Number(found)
  }
  return {
    processes: hard('Max processes'),
    openFiles: hard('Max open files'),
    coreBytes: hard('Max core file size'),
  }
}
