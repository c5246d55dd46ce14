import { readLine } from '@sallyport/protocol/node'
import type { CallApi } from '../harness/call-api.ts'

export interface CredentialEvent {
  readonly kind: string
  readonly at: number
  readonly connectionName?: string
  readonly intentId?: string
  readonly code?: string
  readonly notes?: {
    readonly by?: string
    readonly credentialId: string
    readonly credentialVersion: number
  }
}

export interface SignInEvent extends Omit<CredentialEvent, 'notes'> {
  readonly notes: Readonly<Record<string, unknown>>
}

/** What the journal tells of credentials, oldest first. */
export function credentialEvents(api: CallApi): Promise<CredentialEvent[]> {
  return eventsOf(api, 'credential_')
}

/** What it tells of sign-ins, oldest first. */
export function signInEvents(api: CallApi): Promise<SignInEvent[]> {
  return eventsOf(api, 'sign_in_')
}

/** As it is exported. */
export async function journalLines(api: CallApi): Promise<string[]> {
  const lines: string[] = []
  let part = await api('audit.export')
  lines.push(...part.lines)
  while (part.next !== null) {
    part = await api('audit.export', { next: part.next })
    lines.push(...part.lines)
  }
  return lines
}

async function eventsOf<E extends { kind: string; at: number }>(
  api: CallApi,
  prefix: string,
): Promise<E[]> {
  const events = (await journalLines(api)).flatMap((text): E[] => {
    const line = readLine(text)
    return line?.kind === 'page' ? (line.value as { events: E[] }).events : []
  })
  return events
    .filter(({ kind }) => kind.startsWith(prefix))
    .toSorted((one, other) => one.at - other.at)
}
