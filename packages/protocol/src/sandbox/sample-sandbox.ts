/** A sandbox as it is planned, and what is then seen of it, for tests. */
import type { SandboxEvidence } from './evidence.ts'
import { namespaceKinds, type PlannedMount, type SandboxPlan } from './plan.ts'

const digest = `sha256:${'a'.repeat(64)}`

const mount = (at: string, more: Partial<PlannedMount> = {}): PlannedMount => ({
  at,
  type: null,
  root: null,
  device: null,
  writable: false,
  devices: false,
  sizeKiB: null,
  optional: false,
  ...more,
})

export const samplePlan: SandboxPlan = {
  version: 1,
  isolation: 'bubblewrap',
  command: digest,
  environment: ['HOME', 'PATH'],
  user: { uid: 1000, gid: 1000, hostUid: 501, hostGid: 20, hostGroups: [20, 27, 12] },
  namespaces: [...namespaceKinds],
  nesting: false,
  network: 'none',
  mounts: [
    mount('/', { type: 'tmpfs' }),
    mount('/usr', { device: '8:1', root: '/usr' }),
    mount('/workspace', { device: '8:2', root: '/x', writable: true }),
    mount('/dev/null', { devices: true, writable: null }),
    mount('/tmp', { type: 'tmpfs', writable: true, sizeKiB: 64 }),
    mount('/proc/irq', { type: 'proc', optional: true }),
  ],
  descriptors: [
    { fd: 0, is: 'pipe' },
    { fd: 7, is: 'terminal' },
  ],
  seccomp: { digest },
  limits: { processes: 100, openFiles: 200, coreBytes: 0 },
}

export const sampleMount = (at: string, more: Partial<SandboxEvidence['mounts'][number]> = {}) => ({
  at,
  type: 'ext4',
  root: '/',
  device: '0:1',
  options: ['ro', 'nosuid', 'nodev'],
  sizeKiB: null,
  ...more,
})

export const sampleEvidence: SandboxEvidence = {
  version: 1,
  isolation: 'bubblewrap',
  process: { pid: 7, boot: 'b', namespace: 'pid:[1]', start: '9' },
  isFirst: true,
  processes: 1,
  command: digest,
  environment: ['HOME', 'PATH'],
  namespaces: namespaceKinds.map((kind) => ({ kind, guest: '2', host: '1' })),
  uids: [501, 501, 501, 501],
  gids: [20, 20, 20, 20],
  groups: [12, 27],
  uidMap: '1000 501 1',
  gidMap: '1000 20 1',
  capabilities: {
    inheritable: '0000000000000000',
    permitted: '0000000000000000',
    effective: '0000000000000000',
    bounding: '0000000000000000',
    ambient: '0000000000000000',
  },
  noNewPrivileges: true,
  seccomp: { mode: 2, filters: 1 },
  mounts: [
    sampleMount('/', { type: 'tmpfs', root: '/newroot' }),
    sampleMount('/usr', { device: '8:1', root: '/usr' }),
    sampleMount('/workspace', {
      device: '8:2',
      root: '/x',
      options: ['rw', 'nosuid', 'nodev'],
    }),
    sampleMount('/dev/null', { options: ['rw', 'nosuid'] }),
    sampleMount('/tmp', { type: 'tmpfs', options: ['rw', 'nosuid', 'nodev'], sizeKiB: 64 }),
  ],
  descriptors: [
    { fd: 0, is: 'pipe' },
    { fd: 7, is: 'terminal' },
  ],
  network: { interfaces: ['lo'], routes: 0 },
  limits: { processes: 100, openFiles: 200, coreBytes: 0 },
}
