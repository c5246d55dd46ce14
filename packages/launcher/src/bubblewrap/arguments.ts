/** bubblewrap's arguments. They go to it by a descriptor: what is on a command line everybody of the machine can read. */

import type { Environment } from '../guest/environment.ts'
import { guestHostname, guestPlaces, guestUser } from '../guest/places.ts'
import type { Entry } from './layout.ts'

/** Descriptors that bubblewrap itself reads and writes; it closes them before the gate begins. */
export const ownDescriptors = { status: 4, arguments: 5, seccomp: 6 } as const

export interface ArgumentsOptions {
  readonly layout: readonly Entry[]
  readonly environment: Environment
  readonly nesting: boolean
  /** Where each file comes from: a descriptor that is read to its end. */
  readonly files: readonly { readonly at: string; readonly descriptor: number }[]
}

export function bubblewrapArguments(options: ArgumentsOptions): string[] {
  const { layout, environment, nesting, files } = options
  return [
    ...['user', 'pid', 'net', 'ipc', 'uts', 'cgroup'].map((kind) => `--unshare-${kind}`),
    ...(nesting ? [] : ['--disable-userns']),
    ...['--uid', `${guestUser.uid}`, '--gid', `${guestUser.gid}`, '--hostname', guestHostname],
    ...['--die-with-parent', '--new-session', '--as-pid-1', '--cap-drop', 'ALL'],
    ...layout.flatMap(entryArguments),
    ...files.flatMap(({ at, descriptor }) => ['--perms', '0444', '--file', `${descriptor}`, at]),
    ...['--chdir', guestPlaces.workspace, '--clearenv'],
    ...Object.entries(environment).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--seccomp', `${ownDescriptors.seccomp}`],
    ...['--json-status-fd', `${ownDescriptors.status}`],
    // Last: nothing can be mounted afterwards.
    ...['--remount-ro', '/dev', '--remount-ro', '/'],
  ]
}

function entryArguments(entry: Entry): string[] {
  switch (entry.kind) {
    case 'bind':
      return [entry.writable ? '--bind' : '--ro-bind', entry.from, entry.at]
    case 'temporary':
      return ['--size', `${entry.sizeKiB * 1024}`, '--tmpfs', entry.at]
    case 'processes':
      return ['--proc', '/proc']
    case 'devices':
      return ['--dev', '/dev']
    case 'folder':
      return ['--dir', entry.at]
    case 'link':
      return ['--symlink', entry.to, entry.at]
  }
}
