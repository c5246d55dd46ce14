/** Writes that wait for a person, as admission records them. */
import {
  type Actor,
  type Approval,
  type Connection,
  createUser,
  type Execution,
  type Session,
  useWithinMs,
} from '@sallyport/core'
import type { ExecutionId, Role } from '@sallyport/protocol'
import { expect } from 'vitest'
import { recordedEvent } from '../../packages/core/src/journal/events.ts'
import { exampleExecution, exampleSession } from '../../packages/store/src/contract/examples.ts'
import { addConnection, type World } from './world.ts'

export interface Asked {
  readonly session: Session
  readonly execution: Execution
  readonly approval: Approval
}

export interface Wanted {
  readonly session?: Session
  readonly execution?: Partial<Execution>
  readonly approval?: Partial<Approval>
}

let names = 0
export const freshName = (prefix: string): string => `${prefix}-${names++}`

/** In the scope of a project of its own, or personal. */
export function anyConnection(w: World, actor: Actor, isPersonal = false): Promise<Connection> {
  const scope = isPersonal ? 'personal' : `project:${freshName('p')}`
  return addConnection(w, actor, { name: freshName('c'), scope })
}

export async function addPerson(w: World, role: Role, name = freshName(role)): Promise<Actor> {
  const { id } = await createUser(w.deps, w.admin, { name, role })
  return { userId: id, role }
}

export async function openSessionOf(
  w: World,
  owner: Actor,
  given: Partial<Session> = {},
): Promise<Session> {
  const now = Date.now()
  const lasts = { createdAt: now, lastCallAt: now, expiresAt: now + 3_600_000, idleMs: 3_600_000 }
  const row = exampleSession({ ownerId: owner.userId, ...lasts, ...given })
  await w.store.transact((tx) => tx.sessions.insert(row))
  return row
}

/** Recorded, journalled and pending; asked by `owner` through the connection. */
export async function askWrite(
  w: World,
  owner: Actor,
  connection: Pick<Connection, 'id'>,
  wanted: Wanted = {},
): Promise<Asked> {
  const session = wanted.session ?? (await openSessionOf(w, owner))
  const approvalId = w.deps.ids('approval')
  const now = Date.now()
  const execution = exampleExecution({
    sessionId: session.id,
    ownerId: owner.userId,
    connectionId: connection.id,
    chainId: session.chainId,
    state: 'awaiting_approval',
    mode: 'write_with_approval',
    access: 'write',
    writeKey: freshName('key'),
    approvalId,
    intentId: null,
    intentDigest: null,
    intentIssuedAt: null,
    workerInstance: null,
    notAfter: null,
    barrierAt: null,
    arrivedAt: now,
    caller: 'attached',
    callerInstance: w.deps.ids('instance'),
    ...wanted.execution,
  })
  const approval: Approval = {
    id: approvalId,
    executionId: execution.id,
    sessionId: session.id,
    ownerId: owner.userId,
    callId: execution.callId,
    bindingHash: execution.bindingHash ?? '',
    argumentsDigest: execution.argumentsDigest ?? '',
    digestVersion: 1,
    state: 'pending',
    approvers: 'owner',
    excludesRequester: false,
    decisions: [],
    requestedAt: now,
    expiresAt: now + 10 * useWithinMs,
    closedAt: null,
    ...wanted.approval,
  }
  await w.deps.journal.transact(async (tx, page) => {
    await tx.approvals.insert([approval])
    await tx.executions.insert([execution])
    page.note(recordedEvent(execution))
  })
  return { session, execution, approval }
}

/** What `work` announces, once it is there. Begins when announcements are heard: on Postgres that takes a moment. */
export async function announcedBy(w: World, work: () => Promise<unknown>): Promise<ExecutionId[]> {
  const probe = w.deps.ids('execution')
  const heard: ExecutionId[] = []
  const end = w.store.listen((ids) => {
    if (ids !== 'all') heard.push(...ids)
  })
  const told = () => heard.filter((id) => id !== probe)
  try {
    const isHeard = async () => {
      await w.store.transact((tx) => tx.announce([probe]))
      return heard.length > 0
    }
    await expect.poll(isHeard, { timeout: 10_000, interval: 20 }).toBe(true)
    await work()
    await expect.poll(() => told().length, { timeout: 10_000, interval: 5 }).toBeGreaterThan(0)
    return told()
  } finally {
    end()
  }
}

/** Events of the journal about an execution, in their order. */
export async function eventsOf(
  { store }: World,
  id: ExecutionId,
): Promise<readonly Record<string, unknown>[]> {
  const pages = await store.journal.pages(0, await store.journal.lastPosition(), 10_000)
  const events = pages.flatMap(
    ({ text }) => JSON.parse(text).events as readonly Record<string, unknown>[],
  )
  return events.filter(({ execution }) => execution === id)
}
