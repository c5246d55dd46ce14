/** What stands in the store before anything happens: three sessions of one owner, and the tools that all of them have. */
import {
  type Approval,
  type BoundTool,
  type Execution,
  Journal,
  type Session,
  type Store,
  type Toolsets,
} from '@sallyport/core'
import { type BindingId, profileSettings, type SessionId, type UserId } from '@sallyport/protocol'
import type { JournalSigner } from '@sallyport/protocol/node'
import { digestBytes } from '@sallyport/protocol/node'
import { executionRow } from '../../../packages/core/src/call/execution-row.ts'
import {
  aBinding,
  aCatalog,
  aConnection,
  aCredential,
  aGrant,
  aProfile,
  aSession,
  aTool,
} from '../../../packages/core/src/call/samples.ts'
import { recordedEvent } from '../../../packages/core/src/journal/events.ts'
import type { Laboratory } from './laboratory.ts'

const idOf = <Id>(prefix: string, number: number): Id =>
  `${prefix}_${String(number).padStart(26, '0')}` as Id

const first = aSession()
const otherId = idOf<SessionId>('ses', 3)

export const sessions = {
  first,
  /** Counts as one with the first. */
  continuing: aSession({ id: idOf('ses', 2), continues: first.id, tokenHash: 'continuing' }),
  /** Of the same owner. */
  other: aSession({ id: otherId, chainId: otherId, tokenHash: 'other' }),
} as const satisfies Record<string, Session>

const writing = { tool: 'add', exposedName: 'add', access: 'write' } as const
const asking = { ...writing, mode: 'write_with_approval' } as const

/** Those that write reach the same tool of the same server. */
export const tools = {
  read: aTool(),
  write: aTool({ ...writing, id: idOf<BindingId>('bnd', 2), mode: 'write_unattended' }),
  /** A person decides. */
  ask: aTool({ ...asking, id: idOf<BindingId>('bnd', 3) }),
  /** Two people decide. */
  askTwo: aTool(
    { ...asking, id: idOf<BindingId>('bnd', 4) },
    { grantLimits: { approvers: 'two' } },
  ),
} as const satisfies Record<string, BoundTool>

export const toolsets: Toolsets = {
  of: async () => ({ tools: Object.values(tools), find: () => undefined }),
  callable: async () => Object.values(tools),
}

/** The owner of the sessions, who may also revoke; and somebody who may approve where two are needed. */
export const people = [
  { userId: first.ownerId, role: 'admin' },
  { userId: idOf<UserId>('usr', 2), role: 'approver' },
] as const

/** Short: what ends by time has to end within the time of a laboratory. */
export const holdMs = 20_000
const approvalMs = 40_000
const settings = profileSettings.parse({
  holdSeconds: holdMs / 1_000,
  approvalTtlSeconds: approvalMs / 1_000,
})

export async function fillStore(store: Store, { kid, jwk }: JournalSigner): Promise<void> {
  const { connectionId, credentialId, catalogId } = aBinding()
  await store.transact(async (tx) => {
    for (const { userId: id, role } of people)
      await tx.users.insert({ id, name: role, role, createdAt: 0, disabledAt: null })
    await tx.connections.insert(
      aConnection({ id: connectionId, credentialId, publishedId: catalogId }),
      25,
    )
    await tx.credentials.insert(aCredential())
    await tx.catalogs.insert(aCatalog(), [])
    await tx.profiles.insert(aProfile({ settings }))
    await tx.grants.insert(aGrant())
    for (const session of Object.values(sessions)) await tx.sessions.insert(session)
    await tx.journal.addKey({ kid, jwk, at: 0 })
  })
}

const waitingMs = 10_000
const waiting = { state: 'awaiting_approval', caller: 'detached' } as const

/** Writes of the first session, each of its own, for which nobody waits and a person could decide about. */
export async function fillWaiting(
  { store, ids, timers }: Laboratory,
  signer: JournalSigner,
  count: number,
): Promise<void> {
  const now = timers.now()
  const gateway = ids('instance')
  const journal = new Journal({ store, ids, now: timers.now, instance: gateway, signer })
  for (let at = 1; at <= count; at++) {
    const argumentsText = `{"waiting":${at}}`
    const callId = `waiting ${at}`
    const tool = tools.ask
    const request = { session: first, tool, argumentsText, callId, era: 'legacy' } as const
    const id = ids('execution')
    const asked = executionRow(request, id, digestBytes(argumentsText), { gateway, now })
    const approvalId = ids('approval')
    const row: Execution = { ...asked, ...waiting, approvalId }
    const approval: Approval = {
      id: approvalId,
      executionId: id,
      sessionId: first.id,
      ownerId: first.ownerId,
      callId,
      bindingHash: tool.binding.hash,
      argumentsDigest: row.argumentsDigest as string,
      digestVersion: row.digestVersion,
      state: 'pending',
      approvers: 'owner',
      excludesRequester: false,
      decisions: [],
      requestedAt: now,
      expiresAt: now + waitingMs,
      closedAt: null,
    }
    await journal.transact(async (tx, page) => {
      await tx.executions.insert([row])
      await tx.approvals.insert([approval])
      page.note(recordedEvent(row))
    })
  }
}
