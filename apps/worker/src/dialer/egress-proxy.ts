/**
 * A proxy the operator configured: the way to the public internet where there is no other. It is asked for a tunnel and
 * sees a name or an address, never what goes through. A proxy named by the environment is not known here.
 */
import type { Socket } from 'node:net'
import { SallyportError } from '@sallyport/protocol'

export interface EgressProxy {
  /** Without brackets. */
  readonly host: string
  readonly port: number
  /** Names are resolved behind it: it is asked for names, and a name that is not known here may still be reached. */
  readonly resolves: boolean
}

/** What a proxy says before a tunnel is open. */
const headBytes = 8_192
const headEnd = Buffer.from('\r\n\r\n')

/** Throws TypeError. The URL holds no password: it is an argument, which every process of the machine can read. */
export function parseProxy(text: string, resolves: boolean): EgressProxy {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isBare = url?.pathname === '/' && url.search === '' && url.hash === ''
  if (url?.protocol !== 'http:' || !isBare || url.username !== '' || url.password !== '')
    throw new TypeError('--egress-proxy takes http://host:port, without user and path')
  return {
    host: url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, ''),
    port: Number(url.port || 80),
    resolves,
  }
}

/**
 * Asks for a tunnel over a connection to the proxy; afterwards that connection leads to the target. Rejects with
 * `upstream_unreachable` when the proxy does not open one. `target`: `host:port`, an IPv6 address in brackets.
 */
export async function openTunnel(socket: Socket, target: string): Promise<void> {
  socket.write(`CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\n\r\n`)
  const head = await readHead(socket)
  if (!/^HTTP\/1\.[01] 2\d\d[ \r]/.test(head)) throw refusal('the proxy opens no tunnel')
}

/** In TLS the client speaks first: whatever follows the head at once is not from the target. */
function readHead(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let head = Buffer.alloc(0)
    const settle = (problem?: string) => {
      socket.off('readable', read).off('close', cut)
      if (problem === undefined) resolve(head.toString('latin1'))
      else reject(refusal(problem))
    }
    const cut = () => settle('the proxy closed the connection')
    const read = () => {
      head = Buffer.concat([head, socket.read() ?? Buffer.alloc(0)])
      const end = head.indexOf(headEnd)
      if (head.length > headBytes || (end < 0 && socket.readableEnded))
        settle('no answer of a proxy')
      else if (end >= 0 && end + headEnd.length < head.length)
        settle('the proxy speaks for the target')
      else if (end >= 0) settle()
    }
    socket.on('readable', read).on('close', cut)
  })
}

function refusal(why: string): SallyportError {
  return new SallyportError('upstream_unreachable', { cause: new Error(why) })
}
