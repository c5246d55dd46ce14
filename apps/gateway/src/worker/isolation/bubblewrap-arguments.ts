/** The tree of files in which bubblewrap starts the worker: read-only, and of nothing but what it needs. */
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { ProgramLink, ProgramPlaces } from './program-places.ts'
import { outsideKey, runsProgram, type WorkerNeeds } from './worker-needs.ts'
import type { WorkerUser } from './worker-user.ts'

export interface BubblewrapOptions {
  readonly needs: WorkerNeeds
  readonly program: ProgramPlaces
  readonly node: string
  /** Libraries that Node was loaded with. */
  readonly libraries: readonly string[]
  /** A folder with `hosts` and `resolv.conf` that follow those of the system. */
  readonly names: string
  readonly isRoot: boolean
  /** Whom root hands the worker over to. */
  readonly user: WorkerUser | undefined
}

interface Mount {
  readonly path: string
  readonly words: readonly string[]
  /** In memory: it is closed for writing when everything in it is there. */
  readonly isMask?: boolean
}

/** What comes before `--` and the program. The network stays: it is the one way out. */
export function bubblewrapArguments(options: BubblewrapOptions): readonly string[] {
  const { needs, isRoot, user } = options
  const mounts = mountsOf(options).toSorted((one, other) => depth(one.path) - depth(other.path))
  const masks = mounts.filter(({ isMask }) => isMask).map(({ path }) => path)
  return [
    ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--as-pid-1'],
    // Root needs no user namespace to make the others, and only without one can it become somebody else.
    ...(isRoot ? [] : ['--unshare-user', '--disable-userns']),
    ...['--cap-drop', 'ALL'],
    ...(user ? ['--cap-add', 'CAP_SETUID', '--cap-add', 'CAP_SETGID'] : []),
    '--clearenv',
    ...(runsProgram(needs) ? wholeMachine() : ownTree(options)),
    ...(isRoot && !user ? ['--ro-bind', '/proc/sys', '/proc/sys'] : []),
    ...mounts.flatMap(({ path, words }) => at(path, ...words)),
    // Innermost first: what is closed takes no more mounts.
    ...[...masks.toReversed(), '/'].flatMap((path) => ['--remount-ro', path]),
    ...['--chdir', '/'],
  ]
}

const depth = (path: string): number => path.split('/').length

/** For a program that nobody here knows: it reads what its user may read, and finds the sockets that it asks. */
function wholeMachine(): string[] {
  return ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc']
}

function ownTree({ names }: BubblewrapOptions): string[] {
  return [
    ...['--proc', '/proc', '--perms', '1777', '--tmpfs', '/tmp'],
    ...['/dev/null', '/dev/urandom'].flatMap((path) => at(path, '--dev-bind', path, path)),
    ...at('/etc/ld.so.cache', '--ro-bind-try', '/etc/ld.so.cache', '/etc/ld.so.cache'),
    ...at('/run/names', '--ro-bind', names, '/run/names'),
    ...['hosts', 'resolv.conf'].flatMap((name) => [
      '--symlink',
      `/run/names/${name}`,
      `/etc/${name}`,
    ]),
  ]
}

/** Whatever else is mounted there, the data folder shows nothing of the gateway. */
function mountsOf({ needs, program, node, libraries }: BubblewrapOptions): Mount[] {
  const { dataDir, folder, socketFolder, readable, hidden } = needs
  const read = [node, ...libraries, ...program.folders, ...readable]
  return [
    mask(dataDir),
    ...(runsProgram(needs)
      ? []
      : [...read.map(readOnly), ...program.links.map(link), ...keyMounts(needs)]),
    ...[...new Set([folder, socketFolder])].map(writable),
    ...hidden
      .filter((path) => existsSync(path))
      .map((path) => ({ path, words: ['--ro-bind', '/dev/null', path] })),
  ]
}

/**
 * A folder with other things in it is not for the worker to write; its keys are then seen one by one. A new key in memory
 * would be lost with the worker, and every secret sealed to it.
 */
function keyMounts(needs: WorkerNeeds): Mount[] {
  const key = outsideKey(needs)
  if (!key) return []
  if (key.isAlone) return [writable(key.folder)]
  return [...(key.folder === needs.dataDir ? [] : [mask(key.folder)]), ...key.present.map(writable)]
}

const mask = (path: string): Mount => ({
  path,
  words: ['--perms', '0755', '--tmpfs', path],
  isMask: true,
})
const readOnly = (path: string): Mount => ({ path, words: ['--ro-bind', path, path] })
const link = ({ path, to }: ProgramLink): Mount => ({ path, words: ['--symlink', to, path] })
const writable = (path: string): Mount => ({ path, words: ['--bind', path, path] })

/** The folders above come first: bubblewrap would make those above something private for its maker alone. */
function at(path: string, ...words: readonly string[]): string[] {
  const above: string[] = []
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder))
    above.unshift(folder)
  return [...above.flatMap((folder) => ['--perms', '0755', '--dir', folder]), ...words]
}
