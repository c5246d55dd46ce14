/**
 * The worker's system call filter. Behind the walls around its files and processes it narrows what of the kernel somebody
 * can touch who has taken the worker over. Node itself, its threads and what it compiles need everything that is left.
 */
import {
  type Architecture,
  absent,
  allowed,
  dangerousCalls,
  filterOf,
  firstYounger,
  type Instruction,
  load,
  noCloneByMemory,
  noNewNamespaces,
  offsets,
  onCall,
  refused,
  refuseNewNamespaces,
  type SystemCall,
  socketFamilies,
  socketsOf,
  whenAnyBit,
  whenAtLeast,
} from '@sallyport/protocol/seccomp'

export interface FilterOptions {
  /** It starts the program that gives the vault key: any program, which may ask the kernel for it. */
  readonly runsProgram: boolean
}

const kernelKeys: ReadonlySet<SystemCall> = new Set(['add_key', 'keyctl', 'request_key'] as const)
/** Of `clone`: a thread of this process, not a process. */
const thread = 0x10000
/** What Node does without. The one call by which it is started itself cannot be among them. */
const unneeded: readonly SystemCall[] = [
  ...(['fork', 'vfork', 'execveat', 'chroot', 'mknod', 'mknodat', 'name_to_handle_at'] as const),
  ...(['personality', 'remap_file_pages', 'mbind', 'set_mempolicy', 'migrate_pages'] as const),
  ...(['move_pages', 'process_madvise', 'shmget', 'semget', 'msgget'] as const),
]

/** The program for `bwrap --seccomp`. */
export function workerFilter(
  architecture: Architecture,
  { runsProgram }: FilterOptions,
): Uint8Array {
  const refuse = (name: SystemCall) => onCall(architecture, name, [refused])
  if (runsProgram)
    return filterOf(architecture, [
      ...dangerousCalls.filter((name) => !kernelKeys.has(name)).map(refuse),
      noNewNamespaces(architecture),
    ])
  return filterOf(architecture, [
    // As on an older kernel: nobody has looked at them yet.
    whenAtLeast(firstYounger, [absent]),
    ...[...dangerousCalls, ...unneeded].map(refuse),
    noCloneByMemory(architecture),
    onCall(architecture, 'clone', threadsOnly),
    socketsOf(architecture, [socketFamilies.inet, socketFamilies.inet6]),
  ])
}

const threadsOnly: readonly Instruction[] = [
  load(offsets.argument(0)),
  ...refuseNewNamespaces,
  ...whenAnyBit(thread, [allowed]),
  refused,
]
