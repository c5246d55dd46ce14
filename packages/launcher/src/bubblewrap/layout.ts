/** What of the host a guest sees, and where: one list, from which both bubblewrap's arguments and the plan are made. */
import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { admitFolder, admitPath } from '../guest/admit-folder.ts'
import { guestHostname, guestPlaces, guestUser } from '../guest/places.ts'
import type { GuestFile, GuestSpec } from '../sandbox.ts'

export type Entry =
  | {
      readonly kind: 'bind'
      readonly from: string
      readonly at: string
      readonly writable: boolean
    }
  | { readonly kind: 'temporary'; readonly at: string; readonly sizeKiB: number }
  | { readonly kind: 'processes' | 'devices' }
  | { readonly kind: 'folder'; readonly at: string }
  | { readonly kind: 'link'; readonly at: string; readonly to: string }

export interface LayoutOptions {
  readonly spec: GuestSpec
  readonly temporaryKiB: number
  /** Who launches. */
  readonly hostUid: number
}

/** In the order of mounting. Throws `workspace_refused` and `file_unreadable`. */
export function layoutOf({ spec, temporaryKiB, hostUid }: LayoutOptions): readonly Entry[] {
  const { dataFolder, workspace, channel, mounts = [], covered = [] } = spec
  const temporary = (at: string): Entry => ({ kind: 'temporary', at, sizeKiB: temporaryKiB })
  return [
    ...system(dataFolder),
    ...configuration(dataFolder),
    { kind: 'processes' },
    ...coveredProcesses(hostUid),
    { kind: 'devices' },
    temporary('/dev/shm'),
    temporary(guestPlaces.temporary),
    temporary(guestPlaces.home),
    { kind: 'link', at: '/var/tmp', to: guestPlaces.temporary },
    { kind: 'folder', at: '/run' },
    ...(channel === undefined ? [] : [bind(realpathSync(channel), guestPlaces.channel)]),
    bind(admitFolder(workspace, dataFolder, 'workspace'), guestPlaces.workspace, true),
    ...mounts.map(({ from, at, writable = false }) =>
      bind(admitPath(from, dataFolder, at), at, writable),
    ),
    ...covered.map(temporary),
  ]
}

const bind = (from: string, at: string, writable = false): Entry => ({
  kind: 'bind',
  from,
  at,
  writable,
})

/** Programs and libraries. On most systems all are in /usr, and the others lead there. */
function system(dataFolder: string): Entry[] {
  const roots = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']
  return roots.flatMap((at): Entry[] => {
    const found = lstatSync(at, { throwIfNoEntry: false })
    if (!found) return []
    if (found.isSymbolicLink()) return [{ kind: 'link', at, to: readlinkSync(at) }]
    return [bind(admitPath(at, dataFolder, at), at)]
  })
}

/** Not /etc/ssl as a whole: private keys are in it. */
const fromEtc = [
  'alternatives',
  'ca-certificates',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'mime.types',
  'pki/tls/certs',
  'ssl/cert.pem',
  'ssl/certs',
  'ssl/openssl.cnf',
  'terminfo',
]

function configuration(dataFolder: string): Entry[] {
  return fromEtc.flatMap((name) => {
    const at = `/etc/${name}`
    return lstatSync(at, { throwIfNoEntry: false }) ? [bind(admitPath(at, dataFolder, at), at)] : []
  })
}

/**
 * A guest launched by root is root's number for the kernel, without its powers; but files of /proc that belong to root it may
 * write, and one of them names the program that takes core dumps on the host. bubblewrap covers some of these by itself.
 */
function coveredProcesses(hostUid: number): Entry[] {
  if (hostUid !== 0) return []
  const names = ['sys', 'acpi', 'asound', 'driver', 'fs', 'scsi', 'tty']
  return names
    .map((name) => `/proc/${name}`)
    .filter((at) => lstatSync(at, { throwIfNoEntry: false }))
    .map((at) => bind(at, at))
}

const { name, uid, gid } = guestUser
/** Who there is, and whom there is to talk to: nobody. */
export const accountFiles: readonly GuestFile[] = [
  { at: '/etc/passwd', text: `${name}:x:${uid}:${gid}::${guestPlaces.home}:/bin/sh\n` },
  { at: '/etc/group', text: `${name}:x:${gid}:\n` },
  { at: '/etc/hosts', text: `127.0.0.1 localhost ${guestHostname}\n::1 localhost\n` },
  { at: '/etc/nsswitch.conf', text: 'passwd: files\ngroup: files\nhosts: files\n' },
  { at: '/etc/resolv.conf', text: '' },
]
