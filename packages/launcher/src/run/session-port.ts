import type { Answer, RequestBody } from '@sallyport/protocol'

/** The control API, as far as a launcher needs it. Each rejects with an error that carries a `code` of the table. */
export interface SessionPort {
  create(body: RequestBody<'session.create'>): Promise<Answer<'session.create'>>
  show(id: string, body: RequestBody<'session.evidence'>): Promise<Answer<'session.evidence'>>
  hear(id: string, body: RequestBody<'session.heartbeat'>): Promise<Answer<'session.heartbeat'>>
  denySet(id: string): Promise<Answer<'session.denySet'>>
  confirm(
    id: string,
    body: RequestBody<'session.confirmDenySet'>,
  ): Promise<Answer<'session.confirmDenySet'>>
  end(id: string, body: RequestBody<'session.end'>): Promise<Answer<'session.end'>>
}

/** Nobody said no: the gateway, or its database, is not there right now. */
export function isAway(thrown: unknown): boolean {
  const { code } = thrown as { readonly code?: unknown }
  return away.some((one) => one === code)
}

const away = ['unreachable', 'starting', 'shutting_down', 'store_unavailable']
