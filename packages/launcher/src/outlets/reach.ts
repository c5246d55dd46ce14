/**
 * Opens connections for a guest that has no network: one resolution, every address of it judged, and the judged address
 * dialled. Whatever allows a place, the deny set is asked first, and again by the address behind the name.
 */
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { isIP, connect as netConnect, type Socket } from 'node:net'
import { SallyportError } from '@sallyport/protocol'
import { isSameAddress } from '@sallyport/protocol/network'

export interface Place {
  /** A name as `canonicalName` has it, or an address without brackets. */
  readonly host: string
  readonly port: number
}

/** A host, and who stands behind it once that is known. */
export interface DeniablePlace extends Place {
  readonly address?: string
}

export type Resolve = (name: string) => Promise<readonly string[]>

/** Whether an address behind a host may be dialled, the deny set aside. */
export type JudgeAddress = (address: string) => boolean

export interface Reached {
  readonly socket: Socket
  readonly address: string
}

const resolveMs = 5_000
const connectMs = 5_000
/** A name with more addresses does not get more patience. */
const attempts = 3
/** A peer that is gone without a word is noticed also on a stream that says nothing. */
const keepAliveMs = 60_000

export interface ReachOptions {
  /** By the deny set of now. */
  readonly denies: (place: DeniablePlace) => boolean
  readonly resolve: Resolve
  readonly judge: JudgeAddress
}

/**
 * Rejects with `host_denied` when the place, or an address behind it, may not be reached, and with `host_unreachable` when
 * nobody is there; then no byte was sent.
 */
export async function reach(
  { denies, resolve, judge }: ReachOptions,
  { host, port }: Place,
): Promise<Reached> {
  if (denies({ host, port })) throw new SallyportError('host_denied')
  const addresses = isIP(host) ? [host] : await addressesOf(resolve, host)
  // One that is refused refuses the name: what else stands behind it is then not to be trusted either.
  const isAllowed = addresses.every((address) => judge(address) && !denies({ host, port, address }))
  if (!isAllowed) throw new SallyportError('host_denied')
  let failure: unknown
  for (const address of addresses.slice(0, attempts)) {
    try {
      const socket = await dial(address, port)
      if (!denies({ host, port, address })) return { socket, address }
      socket.destroy()
      throw new SallyportError('host_denied')
    } catch (thrown) {
      if (thrown instanceof SallyportError) throw thrown
      failure = thrown
    }
  }
  throw new SallyportError('host_unreachable', { cause: failure })
}

/** Every address the system knows for a name, its hosts file first. */
export const systemResolve: Resolve = async (name) => {
  const found = await lookup(name, { all: true, order: 'verbatim' })
  return found.map(({ address }) => address)
}

/** Rejects with `host_unreachable` when there is none, or none in time. */
export async function addressesOf(resolve: Resolve, name: string): Promise<readonly string[]> {
  let late: NodeJS.Timeout | undefined
  const never = new Promise<never>((_, reject) => {
    late = setTimeout(() => reject(new Error('no answer in time')), resolveMs)
  })
  try {
    const found = await Promise.race([resolve(name), never])
    if (found.length === 0) throw new Error('no address')
    return found
  } catch (cause) {
    throw new SallyportError('host_unreachable', { cause })
  } finally {
    clearTimeout(late)
  }
}

async function dial(host: string, port: number): Promise<Socket> {
  const socket = netConnect({ host, port, noDelay: true, allowHalfOpen: true })
  socket.setKeepAlive(true, keepAliveMs)
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(connectMs) })
    if (!isSameAddress(socket.remoteAddress ?? '', host)) throw new Error('another address')
    // What a destroyed socket says later must not end the process.
    socket.on('error', () => undefined)
    return socket
  } catch (thrown) {
    socket.on('error', () => undefined)
    socket.destroy()
    throw thrown
  }
}
