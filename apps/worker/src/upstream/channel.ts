import type { Clock } from '../clock.ts'
import type { Connections } from '../http/connections.ts'
import { Exchange, type HttpRequest, type Listener } from '../http/exchange.ts'
import type { Target } from '../vault/vault.ts'

/** The way to one upstream. */
export interface Channel {
  readonly connections: Connections
  readonly clock: Clock
  /** Opens the seals anew, or from memory; throws what the vault throws. */
  target(): Target
}

/** Reads do not mind a connection that was idle: what is lost may be asked again. */
const readIdleMs = 20_000

/** Sends a request that changes nothing. Rejects with SallyportError. */
export function exchange(
  channel: Channel,
  request: HttpRequest,
  listener: Listener,
  totalMs: number,
): Exchange {
  const sent = new Exchange({ request, listener, clock: channel.clock, totalMs })
  channel.connections.run(readIdleMs, (connection, done) => sent.start(connection, done))
  return sent
}
