/** Makes one connection to one judged address, until its first byte could be written. */
import { once } from 'node:events'
import { isIP, connect as netConnect, type Socket } from 'node:net'
import { type SecureContext, connect as tlsConnect } from 'node:tls'
import { SallyportError } from '@sallyport/protocol'
import { isSameAddress } from '@sallyport/protocol/network'
import type { Clock } from '../clock.ts'
import { blocked } from './destination.ts'
import { openTunnel } from './egress-proxy.ts'

export interface Way {
  readonly address: string
  readonly port: number
  /** What a proxy at that address is asked for. */
  readonly tunnel?: string
  /** Whom the certificate must name, a host without brackets; absent: no TLS. */
  readonly name?: string
  readonly secureContext: SecureContext
}

/** A peer that is gone without a word is noticed also on a stream that says nothing for hours. */
const keepAliveMs = 60_000

/** Rejects with what went wrong, or `upstream_timeout` after `ms`; then nothing is left open. */
export async function establish(
  way: Way,
  clock: Pick<Clock, 'after'>,
  ms: number,
): Promise<Socket> {
  const tcp = netConnect({
    host: way.address,
    port: way.port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveMs,
  })
  silence(tcp)
  let cancel = (): void => {}
  const late = new Promise<never>((_, reject) => {
    cancel = clock.after(ms, () => reject(new SallyportError('upstream_timeout')))
  })
  try {
    return await Promise.race([lead(tcp, way), late])
  } catch (thrown) {
    tcp.destroy()
    throw thrown
  } finally {
    cancel()
  }
}

async function lead(tcp: Socket, way: Way): Promise<Socket> {
  await once(tcp, 'connect')
  if (!isSameAddress(tcp.remoteAddress ?? '', way.address)) throw blocked()
  if (way.tunnel !== undefined) await openTunnel(tcp, way.tunnel)
  return way.name === undefined ? tcp : await secure(tcp, way.name, way.secureContext)
}

async function secure(tcp: Socket, name: string, secureContext: SecureContext): Promise<Socket> {
  const tls = tlsConnect({
    socket: tcp,
    host: name,
    // An address is no server name (RFC 6066); the certificate must then hold the address itself.
    servername: isIP(name) > 0 ? '' : name,
    ALPNProtocols: ['http/1.1'],
    // Said although it is the default: the environment could turn that off.
    rejectUnauthorized: true,
    secureContext,
  })
  silence(tls)
  try {
    await once(tls, 'secureConnect')
    return tls
  } catch (cause) {
    const isCut = (cause as NodeJS.ErrnoException).code === 'ECONNRESET'
    throw isCut ? cause : new SallyportError('upstream_tls', { cause })
  }
}

/** What a destroyed socket says later must not end the process. */
function silence(socket: Socket): void {
  socket.on('error', () => {})
}
