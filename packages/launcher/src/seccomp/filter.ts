/**
 * The guest's system call filter. What is dangerous is refused and the rest allowed, because what agents run (compilers,
 * browsers, language servers) needs nearly everything else; namespaces, mounts and lost capabilities are the wall, this
 * narrows what of the kernel can be touched from behind it.
 */
import {
  type Architecture,
  allowed,
  dangerousCalls,
  filterOf,
  load,
  noNewNamespaces,
  offsets,
  onCall,
  refused,
  type SystemCall,
  socketFamilies,
  socketsOf,
  whenEqual,
} from '@sallyport/protocol/seccomp'

export interface FilterOptions {
  /** The guest may make user namespaces and mounts of its own, for agents that bring a sandbox. */
  readonly nesting: boolean
}

/** Push characters into a terminal's input; TIOCLINUX pastes into a console. */
const terminalRequests = { TIOCSTI: 0x5412, TIOCLINUX: 0x541c }

const forNesting: ReadonlySet<SystemCall> = new Set([
  'mount',
  'umount2',
  'pivot_root',
  'setns',
  'unshare',
  'open_tree',
  'move_mount',
  'fsopen',
  'fsconfig',
  'fsmount',
  'fspick',
  'mount_setattr',
] as const)

/** The program for `bwrap --seccomp`. */
export function seccompFilter(architecture: Architecture, { nesting }: FilterOptions): Uint8Array {
  const calls = dangerousCalls.filter((name) => !(nesting && forNesting.has(name)))
  const { inet, inet6, netlink } = socketFamilies
  return filterOf(architecture, [
    ...calls.map((name) => onCall(architecture, name, [refused])),
    nesting ? [] : noNewNamespaces(architecture),
    onCall(architecture, 'ioctl', noInjection),
    // A sandbox inside raises its loopback with netlink.
    socketsOf(architecture, [inet, inet6, ...(nesting ? [netlink] : [])]),
  ])
}

const noInjection = [
  load(offsets.argument(1)),
  ...Object.values(terminalRequests).flatMap((request) => whenEqual(request, [refused])),
  allowed,
]
