import type { Message } from '../http/message-reader.ts'
import { type Channel, exchange } from './channel.ts'
import type { Contact } from './contact.ts'
import { composeReply } from './requests.ts'

const replyMs = 5_000

/**
 * Answers a request of a legacy server at once: a ping with nothing, anything else with "method not found", because we
 * declare no capability. Best effort; a server that does not take the answer has its own limits. Resolves when that is
 * over, always.
 */
export async function refuseRequest(
  channel: Channel,
  contact: Contact,
  { id, method }: Message,
): Promise<void> {
  if (typeof id !== 'string' && typeof id !== 'number') return
  const reply =
    method === 'ping'
      ? { id, result: {} }
      : { id, error: { code: -32601, message: 'Method not found' } }
  const ignored = { head: () => {}, data: () => {} }
  try {
    const request = composeReply(channel.target(), contact, reply)
    await exchange(channel, request, ignored, replyMs).ended
  } catch {
    // The server waits for it in vain, or not at all.
  }
}
