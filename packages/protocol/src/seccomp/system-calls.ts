/** Numbers of the system calls a filter looks at, as the kernel's headers have them (compared with those in the test). */
export const architectures = ['x64', 'arm64'] as const
export type Architecture = (typeof architectures)[number]

/** From linux/audit.h: what the kernel calls the architecture in a filter's input. */
export const auditArchitecture: Record<Architecture, number> = {
  x64: 0xc000003e,
  arm64: 0xc00000b7,
}

type Numbers = Readonly<Record<Architecture, number | null>>
const both = (x64: number | null, arm64: number | null): Numbers => ({ x64, arm64 })
/** From 424 on every architecture has the same number. */
const same = (number: number): Numbers => both(number, number)

const others = {
  // looked at by their arguments
  clone: both(56, 220),
  clone3: same(435),
  ioctl: both(16, 29),
  socket: both(41, 198),
  socketpair: both(53, 199),

  // programs and processes
  fork: both(57, null),
  vfork: both(58, null),
  execveat: both(322, 281),

  // of files, memory and shared memory, what little needs
  chroot: both(161, 51),
  mknod: both(133, null),
  mknodat: both(259, 33),
  name_to_handle_at: both(303, 264),
  personality: both(135, 92),
  remap_file_pages: both(216, 234),
  mbind: both(237, 235),
  set_mempolicy: both(238, 237),
  migrate_pages: both(256, 238),
  move_pages: both(279, 239),
  process_madvise: same(440),
  shmget: both(29, 194),
  semget: both(64, 190),
  msgget: both(68, 186),
} as const satisfies Record<string, Numbers>

const dangerous = {
  // other processes
  ptrace: both(101, 117),
  process_vm_readv: both(310, 270),
  process_vm_writev: both(311, 271),
  pidfd_getfd: same(438),
  kcmp: both(312, 272),

  // parts of the kernel with a long history of holes, that no agent needs
  bpf: both(321, 280),
  perf_event_open: both(298, 241),
  userfaultfd: both(323, 282),
  io_uring_setup: same(425),
  io_uring_enter: same(426),
  io_uring_register: same(427),
  keyctl: both(250, 219),
  add_key: both(248, 217),
  request_key: both(249, 218),
  open_by_handle_at: both(304, 265),
  fanotify_init: both(300, 262),
  lookup_dcookie: both(212, 18),
  modify_ldt: both(154, null),
  uselib: both(134, null),
  vmsplice: both(278, 75),

  // the machine
  kexec_load: both(246, 104),
  kexec_file_load: both(320, 294),
  init_module: both(175, 105),
  finit_module: both(313, 273),
  delete_module: both(176, 106),
  iopl: both(172, null),
  ioperm: both(173, null),
  reboot: both(169, 142),
  swapon: both(167, 224),
  swapoff: both(168, 225),
  acct: both(163, 89),
  quotactl: both(179, 60),
  quotactl_fd: same(443),
  syslog: both(103, 116),
  settimeofday: both(164, 170),
  clock_settime: both(227, 112),
  clock_adjtime: both(305, 266),
  adjtimex: both(159, 171),

  // mounts and namespaces
  mount: both(165, 40),
  umount2: both(166, 39),
  pivot_root: both(155, 41),
  setns: both(308, 268),
  unshare: both(272, 97),
  open_tree: same(428),
  move_mount: same(429),
  fsopen: same(430),
  fsconfig: same(431),
  fsmount: same(432),
  fspick: same(433),
  mount_setattr: same(442),
} as const satisfies Record<string, Numbers>

export const systemCalls = { ...others, ...dangerous }
export type SystemCall = keyof typeof systemCalls

/** What neither a guest nor the worker has business with. */
export const dangerousCalls = Object.keys(dangerous) as (keyof typeof dangerous)[]

/** Numbers from here on (Linux 5.17) are younger than the lists above. */
export const firstYounger = 450

/** Undefined when filters are not written for this machine. */
export function ownArchitecture(): Architecture | undefined {
  return architectures.find((one) => one === process.arch)
}
