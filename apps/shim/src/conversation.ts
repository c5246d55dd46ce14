/** What a legacy conversation settled once, and how a request of either era is written for the gateway. */
import { eraHeaders, type Incoming, membersOf, parsed, readIncoming } from './incoming.ts'
import type { Outgoing } from './link.ts'
import type { Lists } from './lists.ts'

export interface Conversation {
  /** A null message is the stream on which a legacy gateway tells of changes. */
  readonly outgoing: (message: Incoming | null, call?: string) => Outgoing
  /** An answer to `initialize`. */
  readonly begin: (answer: string, session: string | undefined) => void
  /** The gateway does not know the session, which it can do without. False when there was none. */
  readonly forgetSession: () => boolean
}

const stream = readIncoming('')

export function conversation(path: string, random: () => string, lists: Lists): Conversation {
  let version: unknown
  let session: string | undefined
  return {
    outgoing: (message, call = random()) => {
      const about = message ?? stream
      const { text: body, method, claims, params } = about
      const headers = eraHeaders(about, version, lists.schema(params['name']))
      const isBound = session !== undefined && claims === undefined && method !== 'initialize'
      return {
        call,
        method: message ? 'POST' : 'GET',
        path,
        headers: isBound ? { ...headers, 'mcp-session-id': session as string } : headers,
        body,
        isCall: method === 'tools/call',
      }
    },
    begin: (answer, given) => {
      version = membersOf(membersOf(parsed(answer))['result'])['protocolVersion']
      session = given
    },
    forgetSession: () => {
      const had = session !== undefined
      session = undefined
      return had
    },
  }
}
