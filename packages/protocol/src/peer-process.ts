/**
 * Who is at the other end of a Unix socket: the process that connected it, as the kernel remembers. Node cannot ask, so the
 * C library is asked; only on Linux, and only where a socket of a sandbox is served. See docs/decisions/008.
 */
import { closeSync, readFileSync, readlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { type NamespaceKind, namespaceKinds } from './sandbox/plan.ts'

export interface PeerProcess {
  readonly pid: number
  readonly uid: number
  /** In which it is now; read while it could not be another process of that number. */
  readonly namespaces: ReadonlyMap<NamespaceKind, string>
}

const SOL_SOCKET = 1
const SO_PEERCRED = 17
/** Since Linux 6.5. */
const SO_PEERPIDFD = 77

type GetSocketOption = (
  fd: number,
  level: number,
  name: number,
  value: Uint8Array,
  length: number[],
) => number

/** Undefined when it has gone, or may not be looked at: then it is nobody. Throws where this system cannot tell. */
export function peerProcess(socket: Socket): PeerProcess | undefined {
  const fd = descriptorOf(socket)
  const credentials = option(fd, SO_PEERCRED, 12)
  if (credentials === undefined) return undefined
  const view = new DataView(credentials.buffer)
  const [pid, uid] = [view.getInt32(0, true), view.getUint32(4, true)]
  const pin = option(fd, SO_PEERPIDFD, 4)
  const pinned = pin && new DataView(pin.buffer).getInt32(0, true)
  try {
    const namespaces = namespacesOf(pid)
    return pinned === undefined || isStill(pinned, pid) ? { pid, uid, namespaces } : undefined
  } catch {
    // It ended meanwhile, or is another user's.
    return undefined
  } finally {
    if (pinned !== undefined) closeSync(pinned)
  }
}

/** Throws when there is no such process, or it may not be looked at. */
export function namespacesOf(pid: number): ReadonlyMap<NamespaceKind, string> {
  return new Map(
    namespaceKinds.map((kind) => {
      const id = /\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/ns/${kind}`))?.[1]
      return [kind, id ?? '']
    }),
  )
}

/** What was read was read of the peer, as long as the process behind this descriptor has not ended since. */
function isStill(pidDescriptor: number, pid: number): boolean {
  const info = readFileSync(`/proc/self/fdinfo/${pidDescriptor}`, 'utf8')
  return /^Pid:\s*(-?\d+)/m.exec(info)?.[1] === `${pid}`
}

function option(fd: number, name: number, size: number): Uint8Array | undefined {
  const value = new Uint8Array(size)
  return getSocketOption()(fd, SOL_SOCKET, name, value, [size]) === 0 ? value : undefined
}

/** Node has no name for it, and has had it under this one since its beginnings. */
function descriptorOf(socket: Socket): number {
  const { _handle: handle } = socket as unknown as { readonly _handle?: { readonly fd?: number } }
  const fd = handle?.fd
  if (fd === undefined || fd < 0) throw new TypeError('a socket without a descriptor')
  return fd
}

let loaded: GetSocketOption | undefined

/** Loaded at first use: most processes never serve such a socket. */
function getSocketOption(): GetSocketOption {
  if (loaded) return loaded
  const require = createRequire(import.meta.url)
  const koffi = require('koffi')
  const library = koffi.load('libc.so.6')
  const declared = 'int getsockopt(int, int, int, _Out_ uint8_t *, _Inout_ uint32_t *)'
  loaded = library.func(declared) as GetSocketOption
  return loaded
}
