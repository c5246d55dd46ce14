/** The door of the endpoint: what a request must be before a byte of its body is read. Checks come in this order. */
import type { IncomingMessage } from 'node:http'
import type { Session, SessionReads, Toolsets } from '@sallyport/core'
import type { SessionId } from '@sallyport/protocol'
import { digestBytes } from '@sallyport/protocol/node'
import { shimHeaders } from '@sallyport/protocol/shim'
import { bearerToken, connectionOf, isOwnRequest } from './access.ts'
import { type Refusal, refusalOf } from './answer.ts'
import { isLegacyStream } from './listen.ts'
import type { SessionTraffic, Traffics } from './session-traffic.ts'
import { settledCalls } from './shim.ts'
import { hasWaitTool, ownConnection } from './wait-tool.ts'

export interface Admitted {
  readonly session: Session
  readonly traffic: SessionTraffic
  readonly connection: string | null
}

export interface AdmitDeps {
  readonly sessions: Pick<SessionReads, 'byTokenHash' | 'get'>
  readonly toolsets: Toolsets
  readonly traffics: Traffics
  readonly hosts: () => ReadonlySet<string>
  readonly isClosing: () => boolean
  readonly release: string
}

/** `bound`: the request came by a way that only the guest of this session has, which needs no bearer and no name. */
export async function admit(
  req: IncomingMessage,
  bound: SessionId | undefined,
  deps: AdmitDeps,
): Promise<Admitted | Refusal> {
  const { headers } = req
  if (bound === undefined ? !isOwnRequest(headers, deps.hosts()) : headers.origin !== undefined)
    return foreign
  const session = await sessionOf(req, bound, deps)
  if (!session || session.state === 'ended') return unauthorized
  const { [shimHeaders.release]: release = deps.release } = headers
  if (release !== deps.release) return refusalOf('wrong_shim', close)
  if (session.state !== 'open') return refusalOf('session_not_open')
  if (deps.isClosing()) return refusalOf('shutting_down', { 'retry-after': '1' })
  const traffic = deps.traffics.of(session.id)
  if (!traffic.connect(req.socket)) return tooManyConnections
  const connection = connectionOf(req.url)
  if (connection === undefined) return refusalOf('not_found')
  if (connection !== null && !(await knows(session, connection, deps.toolsets)))
    return refusalOf('not_found')
  if (!isServed(req))
    return { ...refusalOf('bad_request'), status: 405, headers: { allow: 'POST' } }
  // What became of earlier answers is no request, and must be heard when there are many.
  if (settledCalls(req) !== undefined) return { session, traffic, connection }
  const wait = traffic.request()
  if (wait > 0) return refusalOf('too_many', { 'retry-after': String(wait) })
  return { session, traffic, connection }
}

async function sessionOf(
  req: IncomingMessage,
  bound: SessionId | undefined,
  { sessions }: AdmitDeps,
): Promise<Session | undefined> {
  if (bound !== undefined) return sessions.get(bound)
  const token = bearerToken(req.headers.authorization)
  const session = token === undefined ? undefined : await sessions.byTokenHash(digestBytes(token))
  // Where a sandbox was verified, who knows the bearer is not enough: its guest comes by its socket.
  return session?.isolation === 'external' ? session : undefined
}

// Who may not come in keeps no connection either.
const close = { connection: 'close' }

const foreign: Refusal = {
  status: 403,
  code: null,
  message: 'This Host or Origin is not served here.\n',
  headers: close,
}

const unauthorized = refusalOf('not_authenticated', {
  ...close,
  'www-authenticate': 'Bearer realm="sallyport"',
})

const tooManyConnections = refusalOf('too_many', { ...close, 'retry-after': '1' })

/** Also a connection that is granted but could not be bound: its list is empty, its harness starts. */
async function knows(session: Session, name: string, toolsets: Toolsets): Promise<boolean> {
  if (session.unavailable.some(({ connection }) => connection === name)) return true
  const toolset = await toolsets.of(session)
  if (name === ownConnection) return hasWaitTool(toolset)
  return toolset.tools.some(({ binding }) => binding.connectionName === name)
}

function isServed(req: IncomingMessage): boolean {
  if (req.method === 'POST') return true
  if (req.method === 'GET') return isLegacyStream(req)
  return req.method === 'DELETE' && req.headers['mcp-session-id'] !== undefined
}
