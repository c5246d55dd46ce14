/**
 * The barrier: the statements of one transaction that decide, for a group of admitted calls, which of them become
 * `dispatching`. Nothing reaches an upstream without having passed here.
 */
import type { ErrorCode, GrantId, IdSource, InstanceId, SessionId } from '@sallyport/protocol'
import { maxStartWithin } from '@sallyport/protocol/node'
import type { Execution } from '../execution/execution.ts'
import type { Authority, Tx } from '../store.ts'
import { composeOrder, type sealDigests } from './compose-intent.ts'
import { authorityRefs, judge, judgePause, judgeSession } from './judge.ts'
import type { CallRequest, Order } from './ports.ts'

/** A call whose arguments are checked. `row` is what its journal row will be, state and intent aside. */
export interface Admitted {
  readonly request: CallRequest
  readonly row: Execution
  readonly argumentsText: string
}

export type BarrierDecision =
  | { readonly kind: 'passed'; readonly row: Execution }
  | { readonly kind: 'refused'; readonly row: Execution; readonly code: ErrorCode }
  /** The session already has this callId; nothing was recorded. */
  | { readonly kind: 'duplicate' }

export interface BarrierDeps {
  readonly ids: IdSource
  readonly now: () => number
  readonly gateway: InstanceId
  readonly sealDigest: ReturnType<typeof sealDigests>
  /** The worker that would be addressed, or undefined when none is there. */
  readonly worker: () => string | undefined
}

interface Candidate {
  readonly row: Execution
  readonly order?: Order
}

/** Decides and records. `orders` belong to the passed decisions, in their order. */
export async function passBarrier(
  tx: Tx,
  group: readonly Admitted[],
  deps: BarrierDeps,
): Promise<{ decisions: BarrierDecision[]; orders: Order[] }> {
  const authority = await tx.lockAuthority(
    authorityRefs(
      group.map(({ request }) => ({ binding: request.tool.binding, session: request.session })),
    ),
  )
  const rates = new RateCounter(tx, authority.now)
  const candidates: Candidate[] = []
  for (const admitted of group) candidates.push(await decide(admitted, authority, rates, deps))
  const inserted = await tx.executions.insert(candidates.map(({ row }) => row))
  const identical = candidates.flatMap(({ row }, at) =>
    inserted[at] === 'write' ? [refusedRow(row, 'identical_in_flight', deps.now())] : [],
  )
  const recorded = identical.length > 0 ? await tx.executions.insert(identical) : []
  await touchSessions(tx, authority, group)
  const refusedTwins = new Map(
    identical.map((row, at) => [row.id, recorded[at] === 'inserted' ? row : undefined]),
  )
  const decisions = candidates.map(({ row }, at): BarrierDecision => {
    const final = refusedTwins.has(row.id) ? refusedTwins.get(row.id) : row
    if (inserted[at] === 'call' || !final) return { kind: 'duplicate' }
    return final.state === 'refused'
      ? { kind: 'refused', row: final, code: final.code ?? 'internal' }
      : { kind: 'passed', row: final }
  })
  const orders = candidates.flatMap(({ order }, at) =>
    order && decisions[at]?.kind === 'passed' ? [order] : [],
  )
  return { decisions, orders }
}

async function decide(
  { request, row, argumentsText }: Admitted,
  authority: Authority,
  rates: RateCounter,
  deps: BarrierDeps,
): Promise<Candidate> {
  const { tool, session, signal } = request
  const { binding } = tool
  const refuse = (code: ErrorCode): Candidate => ({ row: refusedRow(row, code, deps.now()) })
  if (signal?.aborted) return refuse('call_cancelled')
  const code =
    judge({ binding, session }, authority) ??
    judgePause(authority, binding.access) ??
    (await rates.take(session.id, binding.grantId, tool.grantLimits.rate))
  if (code) return refuse(code)
  const worker = deps.worker()
  const connection = authority.connections.get(binding.connectionId)
  if (worker === undefined || !connection) return refuse('worker_down')
  const issuedAt = deps.now()
  const id = deps.ids('intent')
  const credential = binding.credentialId
    ? authority.credentials.get(binding.credentialId)
    : undefined
  const argumentsDigest = row.argumentsDigest ?? ''
  const order = composeOrder(
    {
      id,
      executionId: row.id,
      worker,
      issuedAt,
      request,
      connection,
      credential,
      argumentsText,
      argumentsDigest,
    },
    deps.sealDigest,
  )
  if (!order) return refuse('connection_changed')
  return {
    order,
    row: {
      ...row,
      state: 'dispatching',
      intentId: id,
      intentDigest: order.digest,
      intentIssuedAt: issuedAt,
      workerInstance: worker,
      barrierAt: authority.now,
      notAfter: issuedAt + maxStartWithin + binding.limits.callMs,
    },
  }
}

export function refusedRow(row: Execution, code: ErrorCode, at: number, field?: string): Execution {
  return {
    ...row,
    state: 'refused',
    code,
    field: field ?? null,
    finishedAt: at,
    intentId: null,
    intentDigest: null,
    intentIssuedAt: null,
    workerInstance: null,
    barrierAt: null,
    notAfter: null,
  }
}

/** Counts what passed in the window of a grant's rate, this group's own calls included. */
class RateCounter {
  readonly #tx: Tx
  readonly #now: number
  readonly #counts = new Map<string, number>()

  constructor(tx: Tx, now: number) {
    this.#tx = tx
    this.#now = now
  }

  async take(
    session: SessionId,
    grant: GrantId,
    rate: { count: number; seconds: number } | undefined,
  ): Promise<ErrorCode | undefined> {
    if (!rate) return undefined
    const key = `${session} ${grant}`
    const since = this.#now - rate.seconds * 1000
    const used =
      this.#counts.get(key) ?? (await this.#tx.executions.countPassed(session, grant, since))
    this.#counts.set(key, used < rate.count ? used + 1 : used)
    return used < rate.count ? undefined : 'rate_limited'
  }
}

/** Not with every call; often enough that a session which calls is never taken for idle. */
const touchEveryMs = 60_000

/** A session that is past its time is not: the call that is refused for it must not bring it back. */
async function touchSessions(
  tx: Tx,
  authority: Authority,
  group: readonly Admitted[],
): Promise<void> {
  const seen = new Set<SessionId>()
  for (const { request } of group) {
    const session = authority.sessions.get(request.session.id)
    if (!session || seen.has(session.id)) continue
    seen.add(session.id)
    const isDue = authority.now - session.lastCallAt >= Math.min(touchEveryMs, session.idleMs / 4)
    if (isDue && judgeSession(session, authority.now) === undefined)
      await tx.sessions.touch(session.id, authority.now)
  }
}
