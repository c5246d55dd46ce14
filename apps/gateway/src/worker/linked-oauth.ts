/** What is asked of the worker about OAuth, over the link. What comes back is sealed, or known to everybody. */
import type {
  OAuthTarget,
  OAuthWorker,
  Order,
  RecoveredRefresh,
  RefreshAnswer,
  RefreshOrder,
} from '@sallyport/core'
import { canonicalJson, type ErrorCode, SallyportError } from '@sallyport/protocol'
import {
  digestBytes,
  maxStartWithin,
  type OAuthBegin,
  type OAuthBegun,
  type OAuthFinish,
  type OAuthGranted,
  type OAuthIntent,
  type OAuthRevoked,
  oauthMs,
  type RecoveredHead,
  type ResultHead,
} from '@sallyport/protocol/node'
import type { DirectAnswer } from './direct-orders.ts'
import type { WorkerLink } from './link.ts'
import {
  claimsOf,
  credentialClaims,
  type OrderClaimsDeps,
  orderClaims,
  orderOf,
} from './order-claims.ts'

export interface LinkedOAuthOptions extends OrderClaimsDeps {
  readonly link: Pick<WorkerLink, 'instance' | 'order' | 'orderUnsettled' | 'settled' | 'recover'>
  /** The process of that worker is known to have ended. */
  readonly provedGone: (instance: string) => boolean
}

const answerMs = maxStartWithin + oauthMs + 2_000

export class LinkedOAuth implements OAuthWorker {
  readonly #options: LinkedOAuthOptions

  constructor(options: LinkedOAuthOptions) {
    this.#options = options
  }

  async begin(target: OAuthTarget, request: OAuthBegin): Promise<OAuthBegun | OAuthGranted> {
    return answerOf(await this.#order('oauth_begin', target, request))
  }

  async finish(target: OAuthTarget, request: OAuthFinish): Promise<OAuthGranted> {
    return answerOf(await this.#order('oauth_finish', target, request))
  }

  name(): RefreshOrder | undefined {
    const { link, ids, now } = this.#options
    const workerInstance = link.instance()
    if (workerInstance === undefined) return undefined
    return { intentId: ids('intent'), workerInstance, issuedAt: now() }
  }

  async refresh(target: OAuthTarget, order: RefreshOrder): Promise<RefreshAnswer> {
    const { intentId, workerInstance, issuedAt } = order
    const claims = claimsOf(intentId, workerInstance, issuedAt)
    const sent = compose({ ...claims, act: 'oauth_refresh' }, target, '')
    return refreshAnswerOf(await this.#options.link.orderUnsettled(sent, answerMs))
  }

  async recover({
    intentId: id,
    workerInstance: aud,
    issuedAt: iat,
  }: RefreshOrder): Promise<RecoveredRefresh> {
    const { link, provedGone } = this.#options
    const instance = link.instance()
    // What is found out now could not be acted on.
    if (instance === undefined) throw new SallyportError('worker_down')
    if (instance !== aud) return { kind: provedGone(aud) ? 'not_known' : 'elsewhere' }
    const [recovered] = await link.recover([{ id, iat, aud }])
    if (!recovered) return { kind: 'running' }
    const { head, raw } = recovered
    if (head.state !== 'result' || !head.result) return { kind: stateOf(head.state) }
    // Its seal was too old to be kept: what it brought is lost.
    if (head.result.withheld !== undefined) return { kind: 'not_known' }
    return refreshAnswerOf({ head: head.result, raw })
  }

  async revoke(target: OAuthTarget): Promise<OAuthRevoked> {
    const order = compose({ ...orderClaims(this.#options), act: 'oauth_revoke' }, target, '')
    return answerOf(await this.#options.link.order(order, answerMs))
  }

  settled({ intentId }: RefreshOrder): void {
    this.#options.link.settled([intentId])
  }

  #order(
    act: OAuthIntent['act'],
    target: OAuthTarget,
    request: OAuthBegin | OAuthFinish,
  ): Promise<DirectAnswer> {
    const text = canonicalJson(request)
    const argumentsDigest = digestBytes(text)
    const order = compose({ ...orderClaims(this.#options), act, argumentsDigest }, target, text)
    return this.#options.link.order(order, answerMs)
  }
}

type OwnClaims = ReturnType<typeof claimsOf> & Pick<OAuthIntent, 'act' | 'argumentsDigest'>

function compose(own: OwnClaims, { connection, credential }: OAuthTarget, text: string): Order {
  const { id, revision, scope, endpointSeal, endpointClear } = connection
  if (endpointSeal === null || endpointClear === null)
    throw new SallyportError('transport_not_available')
  const intent: OAuthIntent = {
    ...own,
    connectionId: id,
    connectionRevision: revision,
    scope,
    endpointDigest: digestBytes(endpointSeal),
    endpointClear,
    ...(credential ? credentialClaims(credential) : {}),
  }
  return orderOf(intent, endpointSeal, credential?.seal, text)
}

function stateOf(state: RecoveredHead['state']): 'running' | 'never_started' | 'not_known' {
  return state === 'result' ? 'not_known' : state
}

function refreshAnswerOf(answer: DirectAnswer): RefreshAnswer {
  const { head } = answer
  if (head.code === undefined && head.verdict === 'result')
    return { kind: 'granted', granted: answerOf(answer) }
  const code = head.code ?? 'oauth_unavailable'
  return { kind: needsPerson(head.verdict, code) ? 'broken' : 'transient', code }
}

function answerOf<T>({ head, raw }: DirectAnswer): T {
  if (head.code !== undefined) throw new SallyportError(head.code)
  if (head.verdict !== 'result') throw new SallyportError('oauth_unavailable')
  return JSON.parse(raw.toString()) as T
}

const refusals: readonly ErrorCode[] = [
  'account_changed',
  'oauth_identity_invalid',
  'oauth_invalid_client',
  'oauth_invalid_grant',
  'oauth_refused',
  'oauth_scope_widened',
  'oauth_server_changed',
  'oauth_token_unusable',
]

/** The authorization server has answered so, or nothing that is tried again can be sent. */
function needsPerson(verdict: ResultHead['verdict'], code: ErrorCode): boolean {
  if (verdict === 'result') return refusals.includes(code)
  const isHopeless = code === 'oauth_not_refreshable' || code === 'oauth_server_changed'
  return verdict === 'not_sent' && (isHopeless || code.startsWith('seal_'))
}
