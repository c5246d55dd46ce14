/**
 * The gate: the first program in every sandbox, from the host and not the guest's. It takes its limits, says that it
 * holds, and waits; on any word but the right one, or when its launcher is gone, it ends. Everything a guest inherits (user,
 * namespaces, filter, limits) is in place by then, so what is verified of the gate holds for the guest.
 */
import type { GuestLimits } from '../sandbox.ts'

/** Of the gate's process: where the guest's three come from, until it is released. Single digits: `sh` knows no others. */
export const gateDescriptors = { gate: 3, stdin: 7, stdout: 8, stderr: 9 } as const
export const holding = 'held\n'
export const goWord = 'go'
/** Of a gate that was not opened. */
const notReleased = 125

export interface GateOptions {
  readonly limits: Pick<GuestLimits, 'processes' | 'openFiles'>
  /**
   * Process 1 of a pid namespace stays: it takes in what the guest leaves behind, and a command that does nothing about
   * signals can still be interrupted, which the kernel does not allow of process 1. Elsewhere the guest takes its place, and
   * a guard beside it ends the whole group when the launcher is gone, as the kernel does with a namespace.
   */
  readonly place: 'first' | 'group'
}

const { stdin: given, stdout: out, stderr: err } = gateDescriptors
/** It hears nothing more until its launcher has gone. In the background a shell has another stdin, so by another number. */
const guard = [
  'exec 5<&0',
  `(trap "" INT QUIT TERM HUP; while read -r word <&5; do :; done; kill -KILL 0) ${given}<&- ${out}>&- ${err}>&- 2>/dev/null &`,
  'exec 5<&-',
]

/** The words to run; the guest's command comes after them. */
export function gateWords({ limits, place }: GateOptions): readonly string[] {
  const { gate, stdin, stdout, stderr } = gateDescriptors
  const script = [
    `exec 0<&${gate} ${gate}<&-`,
    // What dash calls -p others call -u.
    `ulimit -c 0 && ulimit -n ${limits.openFiles} || exit 126`,
    `ulimit -u ${limits.processes} 2>/dev/null || ulimit -p ${limits.processes} || exit 126`,
    `echo ${holding.trim()} >&0`,
    `IFS= read -r word && [ "$word" = ${goWord} ] || exit ${notReleased}`,
    ...(place === 'group' ? guard : []),
    `exec 0<&${stdin} 1>&${stdout} 2>&${stderr} ${stdin}<&- ${stdout}>&- ${stderr}>&-`,
    // A shell that was interrupted too ends so, whatever its command made of it. A trap is not passed on, ignoring would be.
    ...(place === 'first' ? ['trap : INT QUIT', '"$@"', 'exit $?'] : ['exec "$@"']),
  ].join('\n')
  // What the shell says of a command that is not there begins with that word.
  return ['/bin/sh', '-c', script, 'guest']
}
