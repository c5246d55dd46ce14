/** /proc/PID/status. */
import type { SandboxEvidence } from '@sallyport/protocol'

export type StatusFacts = Pick<
  SandboxEvidence,
  'uids' | 'gids' | 'groups' | 'capabilities' | 'noNewPrivileges' | 'seccomp' | 'isFirst'
>

export function parseStatus(text: string): StatusFacts {
  const lines = new Map(
    text.split('\n').map((line) => {
      const [name = '', value = ''] = line.split(':\t', 2)
      return [name, value.trim()]
    }),
  )
  const one = (name: string): string => {
    const value = lines.get(name)
    if (value === undefined) throw new Error(`a status without ${name}`)
    return value
  }
  const numbers = (name: string): number[] => one(name).split(/\s+/).filter(Boolean).map(Number)
  return {
    uids: numbers('Uid'),
    gids: numbers('Gid'),
    groups: numbers('Groups'),
    capabilities: {
      inheritable: one('CapInh'),
      permitted: one('CapPrm'),
      effective: one('CapEff'),
      bounding: one('CapBnd'),
      ambient: one('CapAmb'),
    },
    noNewPrivileges: one('NoNewPrivs') === '1',
    seccomp: { mode: Number(one('Seccomp')), filters: Number(one('Seccomp_filters')) },
    isFirst: numbers('NSpid').at(-1) === 1,
  }
}
