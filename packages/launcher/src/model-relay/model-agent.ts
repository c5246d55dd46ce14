/** Connections to a model's service: judged, and with TLS to whoever its certificate names. */
import { once } from 'node:events'
import { Agent, type AgentOptions } from 'node:http'
import { isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as tlsConnect } from 'node:tls'
import { SallyportError } from '@sallyport/protocol'
import type { Denials } from '../outlets/denials.ts'
import { type Resolve, reach } from '../outlets/reach.ts'
import { judgeModelAddress, type ModelUpstream } from './model-upstream.ts'

export interface ModelAgentOptions {
  readonly upstream: ModelUpstream
  readonly denials: Denials
  readonly resolve: Resolve
}

/** Kept while idle: shorter than services keep theirs. */
const keptMs = 4_000
const handshakeMs = 10_000

export function modelAgent(options: ModelAgentOptions): Agent {
  return new ModelAgent(options)
}

class ModelAgent extends Agent {
  readonly #options: ModelAgentOptions

  constructor(options: ModelAgentOptions) {
    super({ keepAlive: true, timeout: keptMs })
    this.#options = options
  }

  /** Whatever was asked for: there is one place. */
  override createConnection(
    _: AgentOptions,
    made?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    connect(this.#options).then(
      (socket) => made?.(null, socket),
      (error) => made?.(error, undefined as unknown as Duplex),
    )
    return undefined
  }
}

async function connect({ upstream, denials, resolve }: ModelAgentOptions): Promise<Socket> {
  const { socket: reached } = await reach(
    {
      resolve,
      denies: (place) => denials.deniesByName(place),
      judge: (address) => judgeModelAddress(upstream, address),
    },
    upstream,
  )
  const socket = upstream.isPlain ? reached : await secure(reached, upstream.host)
  if (!denials.deniesByName(upstream)) return socket
  socket.destroy()
  throw new SallyportError('host_denied')
}

async function secure(socket: Socket, host: string): Promise<Socket> {
  const tls = tlsConnect({
    socket,
    host,
    // An address is no server name (RFC 6066).
    servername: isIP(host) > 0 ? '' : host,
    ALPNProtocols: ['http/1.1'],
    // Said although it is the default: the environment could turn that off.
    rejectUnauthorized: true,
  })
  tls.on('error', () => undefined)
  try {
    await once(tls, 'secureConnect', { signal: AbortSignal.timeout(handshakeMs) })
    return tls
  } catch (cause) {
    tls.destroy()
    throw new SallyportError('model_unreachable', { cause })
  }
}
