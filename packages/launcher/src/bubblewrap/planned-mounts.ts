/** What the kernel will list as mounts of a sandbox that is made from this layout. */
import { accessSync, constants, realpathSync } from 'node:fs'
import type { PlannedMount } from '@sallyport/protocol'
import type { HostMounts } from '../guest/host-mounts.ts'
import type { Entry } from './layout.ts'

export function plannedMounts(
  layout: readonly Entry[],
  host: HostMounts,
  hostUid: number,
): PlannedMount[] {
  // The root is a tmpfs that bubblewrap fills; it calls its top by different names.
  return [
    mount('/', { type: 'tmpfs', writable: false }),
    ...layout.flatMap((entry) => ofEntry(entry, host, hostUid)),
  ]
}

function ofEntry(entry: Entry, host: HostMounts, hostUid: number): PlannedMount[] {
  switch (entry.kind) {
    case 'bind':
      return ofBind(entry, host)
    case 'temporary':
      return [mount(entry.at, { type: 'tmpfs', writable: true, sizeKiB: entry.sizeKiB })]
    case 'processes':
      return [mount('/proc', { type: 'proc', root: '/' }), ...coveredByItself(hostUid)]
    case 'devices':
      return devices(host)
    default:
      return []
  }
}

/** Whatever is mounted below comes along: read-only where the bind is, else as it is on the host. */
function ofBind(
  { from, at, writable }: Entry & { kind: 'bind' },
  host: HostMounts,
): PlannedMount[] {
  return [
    mount(at, { ...host.locate(from), writable }),
    ...host
      .below(from)
      .map(({ rest, ...place }) =>
        mount(`${at}${rest}`, { ...place, writable: writable ? null : false }),
      ),
  ]
}

/** Where it could write there, bubblewrap lets nobody. */
function coveredByItself(hostUid: number): PlannedMount[] {
  return ['sysrq-trigger', 'irq', 'bus'].map((name) =>
    mount(`/proc/${name}`, {
      type: 'proc',
      root: `/${name}`,
      writable: false,
      optional: hostUid !== 0 || !isWritable(`/proc/${name}`),
    }),
  )
}

/** What is root only in a user namespace of somebody else may not write there either. */
function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

function devices(host: HostMounts): PlannedMount[] {
  const files = ['null', 'zero', 'full', 'random', 'urandom', 'tty'].map((name) => `/dev/${name}`)
  return [
    mount('/dev', { type: 'tmpfs', root: '/', writable: false }),
    ...files.map((at) => mount(at, { ...host.locate(realpathSync(at)), devices: true })),
    mount('/dev/pts', { type: 'devpts', root: '/', devices: true }),
  ]
}

function mount(at: string, known: Partial<PlannedMount>): PlannedMount {
  const unknown = { type: null, root: null, device: null, writable: null, sizeKiB: null }
  return { at, ...unknown, devices: false, optional: false, ...known }
}
