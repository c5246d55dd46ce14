/** The MCP sessions of the legacy eras: an id that clients may send with each request, a stream by GET, an end by DELETE. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Session } from '@sallyport/core'
import { modernVersion } from '@sallyport/protocol'
import type { Admitted } from './admit.ts'
import { answerEmpty, type Refusal, refuseUnread } from './answer.ts'
import { single } from './era.ts'
import { openLegacyStream } from './listen.ts'
import type { McpSessionIds } from './mcp-session-id.ts'
import type { Timing } from './timing.ts'

export interface LegacyDeps {
  readonly ids: McpSessionIds
  readonly timing: Timing
  readonly isStillOpen: (session: Session) => Promise<boolean>
  readonly listening: (session: Session, open: () => void) => Promise<void>
}

const unknownId: Refusal = {
  status: 404,
  code: -32001,
  message: 'There is no such Mcp-Session-Id here. Initialize again.',
}

/** The id that a legacy request carries; 2026-07-28 has none and ignores it. */
export function mcpSessionOf(req: IncomingMessage): string | undefined {
  const isModern = req.headers['mcp-protocol-version'] === modernVersion
  return isModern ? undefined : single(req.headers['mcp-session-id'])
}

/** An id is not required, since some clients lose it; one that is sent must be of this session and not ended. */
export function checkMcpSession(
  req: IncomingMessage,
  { session, traffic }: Admitted,
  ids: McpSessionIds,
): Refusal | undefined {
  const id = mcpSessionOf(req)
  if (id === undefined || traffic.isLiveId(id, () => ids.verify(session.id, id))) return undefined
  return unknownId
}

export async function serveLegacySession(
  req: IncomingMessage,
  res: ServerResponse,
  admitted: Admitted,
  { ids, timing, isStillOpen, listening }: LegacyDeps,
): Promise<void> {
  const problem = checkMcpSession(req, admitted, ids)
  const mcpSession = mcpSessionOf(req)
  const { traffic, session } = admitted
  if (problem) {
    refuseUnread(req, res, problem, timing)
  } else if (req.method === 'GET') {
    const isOpen = () => isStillOpen(session)
    await listening(session, () => {
      if (!res.closed)
        openLegacyStream(req, res, { traffic, mcpSession, timing, isStillOpen: isOpen })
    })
  } else {
    if (mcpSession !== undefined) traffic.endId(mcpSession)
    answerEmpty(res, 204)
  }
}
