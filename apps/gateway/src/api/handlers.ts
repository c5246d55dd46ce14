/** One handler a route; the type sees to it that none is missing and that each answers what the table says. */
import type { Actor, User } from '@sallyport/core'
import type { Answer, ParsedBody, ParsedQuery, RouteName, routes } from '@sallyport/protocol'
import type { ApiDeps } from './api-deps.ts'
import { approvalHandlers } from './approvals.ts'
import { auditHandlers } from './audit.ts'
import { catalogHandlers } from './catalogs.ts'
import { connectionHandlers } from './connections.ts'
import { denySetHandlers } from './deny-set.ts'
import { doctorHandlers } from './doctor.ts'
import { executionHandlers } from './executions.ts'
import { operationHandlers } from './operation.ts'
import { profileHandlers } from './profiles.ts'
import { serviceHandlers } from './services.ts'
import { sessionHandlers } from './sessions.ts'
import { settingHandlers } from './settings.ts'
import { userHandlers } from './users.ts'
import { vaultHandlers } from './vault.ts'
import { webhookHandlers } from './webhooks.ts'

type ParamName<P extends string> = P extends `${string}{${infer N}}${infer Rest}`
  ? N | ParamName<Rest>
  : never

/** A request that was let in: who asks, and what was asked, already judged by the route's schemas. */
export interface Asked<N extends RouteName> {
  readonly actor: Actor
  readonly user: User
  readonly params: Readonly<Record<ParamName<(typeof routes)[N]['path']>, string>>
  readonly query: ParsedQuery<N>
  readonly body: ParsedBody<N>
}

export type Handler<N extends RouteName> = (asked: Asked<N>) => Promise<Answer<N>>
export type Handlers = { readonly [N in RouteName]: Handler<N> }
export type HandlersOf<Noun extends string> = Pick<
  Handlers,
  Extract<RouteName, `${Noun}.${string}`>
>

export function createHandlers(deps: ApiDeps): Handlers {
  return {
    ...operationHandlers(deps),
    ...vaultHandlers(deps),
    ...doctorHandlers(deps),
    ...userHandlers(deps),
    ...connectionHandlers(deps),
    ...serviceHandlers(deps),
    ...denySetHandlers(deps),
    ...catalogHandlers(deps),
    ...profileHandlers(deps),
    ...sessionHandlers(deps),
    ...executionHandlers(deps),
    ...approvalHandlers(deps),
    ...auditHandlers(deps),
    ...settingHandlers(deps),
    ...webhookHandlers(deps),
  }
}
