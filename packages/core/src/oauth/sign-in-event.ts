import type { ErrorCode } from '@sallyport/protocol'
import type { JournalEvent } from '@sallyport/protocol/node'
import type { Connection } from '../connection/connection.ts'
import type { OAuthFlow } from './oauth.ts'

type SignInEventKind = Extract<JournalEvent['kind'], `sign_in_${string}`>

/** What became of somebody's sign-in, for the journal. Without an id where it was refused before it began. */
export function signInEvent(
  kind: SignInEventKind,
  connection: Pick<Connection, 'id' | 'name'>,
  flow: Pick<OAuthFlow, 'userId'> & Partial<Pick<OAuthFlow, 'id' | 'issuer'>>,
  more: SignInFacts,
): JournalEvent {
  const { at, code, ...facts } = more
  const { id: flowId, issuer, userId: by } = flow
  const notes = { by, ...given({ flowId, issuer: issuer || undefined, ...facts }) }
  const { id: connectionId, name: connectionName } = connection
  return { kind, at, connectionId, connectionName, ...(code ? { code } : {}), notes }
}

interface SignInFacts {
  readonly at: number
  readonly code?: ErrorCode | undefined
  readonly account?: OAuthFlow['account']
  readonly credentialId?: string
  readonly credentialVersion?: number
}

function given(facts: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(facts).filter(([, value]) => value !== undefined && value !== null),
  )
}
