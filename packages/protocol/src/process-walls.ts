/** Reads from inside what separates this process from others. */
import { readFileSync, readlinkSync } from 'node:fs'
import type { ProcessWalls } from './worker-isolation.ts'

/** Never throws: what cannot be read is null. */
export function readProcessWalls(): ProcessWalls {
  const status = readText('/proc/self/status')
  return {
    boot: readText('/proc/sys/kernel/random/boot_id')?.trim() ?? null,
    namespaces: readNamespaces(),
    root: readRoot(),
    uid: readUid(status),
    hasCapabilities: fieldOf(status, 'CapEff', (value) => !/^0+$/.test(value)),
    noNewPrivileges: fieldOf(status, 'NoNewPrivs', (value) => value === '1'),
    seccomp: fieldOf(status, 'Seccomp', (value) => value === '2'),
    nodePermission: hasNodePermission(),
    variables: Object.keys(process.env).filter((name) => name !== 'PWD').length,
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // Not Linux, or /proc is not all there: the fact is then not known.
    return undefined
  }
}

function readNamespaces(): ProcessWalls['namespaces'] {
  const read = (kind: string) => readlinkSync(`/proc/self/ns/${kind}`)
  try {
    return { ipc: read('ipc'), mnt: read('mnt'), pid: read('pid'), uts: read('uts') }
  } catch {
    // As above.
    return null
  }
}

/** The last mount at `/` is the one that is seen. */
function readRoot(): ProcessWalls['root'] {
  const mounts = readText('/proc/self/mountinfo')?.split('\n') ?? []
  const fields = mounts.map((line) => line.split(' ')).findLast(([, , , , at]) => at === '/')
  if (!fields) return null
  const [, , device, within, , options = ''] = fields
  return { place: `${device} ${within}`, isReadOnly: options.split(',').includes('ro') }
}

/** Through the map of its user namespace: a root that others call by another number is none. */
function readUid(status: string | undefined): number | null {
  const inside = fieldOf(status, 'Uid', (value) => Number(value.split(/\s+/)[1]))
  const map = readText('/proc/self/uid_map')
  if (inside === null || map === undefined) return null
  for (const line of map.trim().split('\n')) {
    const [first = 0, outside = 0, count = 0] = line.trim().split(/\s+/).map(Number)
    if (inside >= first && inside < first + count) return outside + inside - first
  }
  return inside
}

function fieldOf<T>(
  status: string | undefined,
  name: string,
  read: (value: string) => T,
): T | null {
  const [, value] = new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status ?? '') ?? []
  return value === undefined ? null : read(value.trim())
}

/** On, and not so wide that it limits nothing. */
function hasNodePermission(): boolean {
  const { permission } = process
  if (permission === undefined) return false
  return !['fs.read', 'fs.write', 'worker', 'addon'].some((scope) => permission.has(scope))
}
