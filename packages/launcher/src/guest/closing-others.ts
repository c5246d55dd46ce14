import { existsSync } from 'node:fs'

const bash = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash']

/** Where the process that is started finds what; the guest's three are at 0, 1 and 2. */
export const complaintDescriptor = 7

/**
 * The words, behind a shell that puts the descriptors where the gate has them, and closes every other than these: Node passes
 * on what it was itself started with and never knew of. The guest's three come by 0, 1 and 2 because Node makes only those
 * wait again, which it has itself set not to. `sh` cannot close numbers over nine: what leaks without a bash is a mismatch, and the guest
 * is not released.
 */
export function closingOthers(kept: readonly number[], words: readonly string[]): string[] {
  const shell = bash.find((path) => existsSync(path))
  // To 7, 8 and 9; complaints go to 2 for now.
  const move = `exec 8>&1 9>&2 2>&${complaintDescriptor} 7<&0 0</dev/null 1>/dev/null`
  if (shell === undefined) return ['/bin/sh', '-c', `${move}; exec "$@"`, 'close', ...words]
  const script = [
    move,
    'for f in /proc/self/fd/*; do',
    `n=\${f##*/}`,
    `case " ${kept.join(' ')} " in *" $n "*) ;; *) eval "exec $n>&-" ;; esac`,
    'done',
    'unset PWD OLDPWD',
    'exec "$@"',
  ].join('\n')
  return [shell, '--norc', '--noprofile', '-c', script, 'close', ...words]
}
