import { Exchange } from '../http/exchange.ts'
import type { Channel } from './channel.ts'
import type { Contact } from './contact.ts'
import { contactHeaders, plainHeaders } from './requests.ts'

const endMs = 2_000

/**
 * Tells a legacy server that its session is over: same endpoint, same id, same credential. Best effort within two
 * seconds; whatever comes of it changes no outcome. Resolves always.
 */
export async function endSession(channel: Channel, contact: Contact): Promise<void> {
  if (contact.sessionId === undefined) return
  const connection = channel.connections.single()
  const cancel = channel.clock.after(endMs, () => sent?.stop('upstream_timeout'))
  let sent: Exchange | undefined
  try {
    const target = channel.target()
    const headers = [...plainHeaders(target), ...contactHeaders(contact)]
    sent = new Exchange({
      request: { method: 'DELETE', path: target.endpoint.path, headers },
      listener: { head: () => {}, data: () => {} },
      clock: channel.clock,
    })
    sent.start(connection, () => {})
    await sent.ended
  } catch {
    // The server may be gone, or not know sessions that end.
  } finally {
    cancel()
    void connection.destroy()
  }
}
