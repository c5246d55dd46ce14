/** What separates a worker from the rest of its machine: what it finds of that from inside, and what follows from it. */

const namespaceKinds = ['ipc', 'mnt', 'pid', 'uts'] as const
type NamespaceKind = (typeof namespaceKinds)[number]

/** Facts that a process reads about itself, not what was asked for it. Null: this system does not tell. */
export interface ProcessWalls {
  /** Tells whether numbers of two processes may be compared: they are of one running kernel. */
  readonly boot: string | null
  readonly namespaces: Readonly<Record<NamespaceKind, string>> | null
  /** What is mounted at `/`. `place` tells two of one kernel apart. */
  readonly root: { readonly place: string; readonly isReadOnly: boolean } | null
  /** As the system counts it where it tells: root within its own numbers only is not 0. */
  readonly uid: number | null
  readonly hasCapabilities: boolean | null
  readonly noNewPrivileges: boolean | null
  readonly seccomp: boolean | null
  /** Node refuses files it was not given, threads and native code; programs too, unless the key comes from one. */
  readonly nodePermission: boolean
  /** Variables in its environment, `PWD` aside. */
  readonly variables: number
}

/** Files that hold these facts; a worker whose reading is limited has to be given them. */
export const wallFiles: readonly string[] = [
  '/proc/self/status',
  '/proc/self/mountinfo',
  '/proc/self/uid_map',
  '/proc/sys/kernel/random/boot_id',
  ...namespaceKinds.map((kind) => `/proc/self/ns/${kind}`),
]

export const isolationLayers = [
  'files',
  'processes',
  'user',
  'privileges',
  'system_calls',
  'permission',
  'environment',
] as const
export type IsolationLayer = (typeof isolationLayers)[number]
export type LayerState = 'on' | 'off' | 'unknown'

/** `beside`: who looks at it, from where the worker is to be separated. */
export function judgeWalls(
  walls: ProcessWalls,
  beside: ProcessWalls,
): Readonly<Record<IsolationLayer, LayerState>> {
  const isElsewhere = walls.boot !== null && beside.boot !== null && walls.boot !== beside.boot
  const isOwn = (kind: NamespaceKind): boolean | null => {
    if (!walls.namespaces || !beside.namespaces) return null
    return isElsewhere || walls.namespaces[kind] !== beside.namespaces[kind]
  }
  const ownRoot =
    walls.root && beside.root
      ? walls.root.isReadOnly && (isElsewhere || walls.root.place !== beside.root.place)
      : null
  return {
    files: stateOf(isOwn('mnt'), ownRoot),
    processes: stateOf(isOwn('pid'), isOwn('ipc'), isOwn('uts')),
    user: stateOf(
      walls.uid === null ? null : walls.uid !== 0,
      walls.hasCapabilities === null ? null : !walls.hasCapabilities,
    ),
    privileges: stateOf(walls.noNewPrivileges),
    system_calls: stateOf(walls.seccomp),
    permission: stateOf(walls.nodePermission),
    environment: stateOf(walls.variables === 0),
  }
}

/** On only when all of it is. */
function stateOf(...facts: readonly (boolean | null)[]): LayerState {
  if (facts.includes(false)) return 'off'
  return facts.includes(null) ? 'unknown' : 'on'
}
