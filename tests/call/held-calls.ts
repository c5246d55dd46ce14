/** Short ways through what is asked, held, decided and taken, for tests of calls that wait. */
import {
  type Actor,
  type Approval,
  type BoundTool,
  type CallOutcome,
  type CallRequest,
  decideApproval,
  type Execution,
  type Session,
} from '@sallyport/core'
import type { ApprovalId, ExecutionId, IntentId, UserId } from '@sallyport/protocol'
import { expect } from 'vitest'
import { askTool, type World, writeTool } from './call-world.ts'

export const eras = ['legacy', 'modern'] as const
export type Era = (typeof eras)[number]

/** Needs a person. */
export const write = { tool: askTool, argumentsText: '{"by":1}' }
/** Identical to it, and needs nobody. */
export const unattended = { tool: writeTool, argumentsText: '{"by":1}' }

export const limited = (tool: BoundTool, grantLimits: BoundTool['grantLimits']): BoundTool => ({
  ...tool,
  grantLimits,
})

/** Looks until there is something, for twenty seconds. */
export async function until<T>(
  look: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const give = Date.now() + 20_000
  do {
    const found = await look()
    if (found !== undefined && found !== false) return found
    await new Promise((resolve) => setTimeout(resolve, 1))
  } while (Date.now() < give)
  throw new Error('it never came')
}

/** What was decided has reached whoever waits, and what that led to is recorded. */
export async function quiet(...worlds: World[]): Promise<void> {
  for (let turn = 0; turn < 8; turn++) {
    for (const { orphans, desk, group } of worlds) {
      await orphans.look()
      desk.holds.wake('all')
      await group.drained()
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** A call whose guest the test plays. */
export interface Asked {
  readonly outcome: Promise<CallOutcome>
  readonly cancelled: AbortController
  readonly left: AbortController
  /** The guest closes its stream, which is recorded. */
  leave(): Promise<void>
  /** The guest takes it back by name. */
  cancel(): void
}

function asked(world: World, change: Partial<CallRequest>): Asked {
  const left = new AbortController()
  const cancelled = new AbortController()
  const signals = { left: left.signal, cancelled: cancelled.signal }
  return {
    outcome: world.ask({ ...write, ...signals, ...change }),
    cancelled,
    left,
    cancel: () => cancelled.abort(),
    leave: async () => {
      left.abort()
      await world.group.drained()
    },
  }
}

/** Resolves once it waits. */
export async function askHeld(world: World, change: Partial<CallRequest> = {}): Promise<Asked> {
  const { promise, resolve } = Promise.withResolvers<'held'>()
  const call = asked(world, { ...change, held: () => resolve('held') })
  expect(await Promise.race([promise, call.outcome])).toBe('held')
  return call
}

/** Resolves once it was sent: its intent, and its execution as the order names it. */
export async function askSent(
  world: World,
  change: Partial<CallRequest> = {},
): Promise<Asked & { readonly intent: IntentId; readonly id: ExecutionId }> {
  const before = world.worker.orders.length
  const call = asked(world, { ...unattended, ...change })
  const intent = await world.worker.intent(before)
  return { ...call, intent, id: executionOf(world, before) }
}

export function executionOf({ worker }: World, order: number): ExecutionId {
  return JSON.parse(worker.orders[order]?.text ?? '{}').executionId
}

/** How many orders the workers of these gateways got. */
export const sent = (...worlds: World[]): number =>
  worlds.reduce((sum, { worker }) => sum + worker.orders.length, 0)

export function approvals({ store }: World): Promise<Approval[]> {
  return store.approvals.list({ limit: 100 }).then((found) => found.reverse())
}

/** The oldest that waits for a person. */
export function pending({ store }: World): Promise<Approval> {
  return until(async () => (await store.approvals.list({ state: 'pending', limit: 100 })).at(-1))
}

export async function decide(
  world: World,
  decision: 'approve' | 'deny',
  id?: ApprovalId,
  by: Actor = world.owner,
): Promise<Approval> {
  return decideApproval(world, by, id ?? (await pending(world)).id, { decision })
}

/** Somebody approves what waits, and it is sent to this gateway's worker. */
export async function approveSent(world: World): Promise<IntentId> {
  const before = sent(world)
  await decide(world, 'approve')
  return world.worker.intent(before)
}

export async function rowOf({ store, group }: World, id: ExecutionId): Promise<Execution> {
  await group.drained()
  return (await store.executions.get(id)) ?? expect.fail('no such row')
}

/** Oldest first. */
export async function rowsOf(world: World): Promise<Execution[]> {
  return (await world.rows()).reverse()
}

export const statesOf = async (world: World): Promise<string[]> =>
  (await rowsOf(world)).map(({ state, code }) => (code === null ? state : `${state} ${code}`))

/** The guest has it. */
export async function take(world: World, outcome: CallOutcome): Promise<void> {
  deliveryOf(outcome).collected()
  await world.group.drained()
}

export function deliveryOf(outcome: CallOutcome) {
  const delivery = outcome.kind === 'waiting' ? undefined : outcome.delivery
  return delivery ?? expect.fail('nobody asks whether it arrived')
}

/** Its gateway lives until further notice. */
export async function renew(world: World): Promise<void> {
  world.group.renew({ id: world.gateway, startedAt: 0 })
  await world.group.drained()
}

/** Steps past a lease; only these are renewed meanwhile. */
export async function outlive(world: World, ...living: World[]): Promise<void> {
  for (let second = 0; second < 16; second++) {
    world.step(1000)
    for (const one of living) await renew(one)
  }
}

let sessions = 0

/** Another open session; of the same owner, unless told. */
export async function openSession(world: World, change: Partial<Session> = {}): Promise<Session> {
  const id = world.ids('session')
  const tokenHash = `sha256:${String(++sessions).padStart(64, '7')}`
  const session = { ...world.session, id, chainId: id, tokenHash, ...change }
  await world.store.transact((tx) => tx.sessions.insert(session))
  return session
}

export async function addUser(world: World, role: Actor['role'] = 'member'): Promise<Actor> {
  const id: UserId = world.ids('user')
  const row = { id, name: `u${id.slice(-12)}`, role, createdAt: 0, disabledAt: null }
  await world.store.transact((tx) => tx.users.insert(row))
  return { userId: id, role }
}
