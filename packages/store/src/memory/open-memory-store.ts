import type { Store, Tx } from '@sallyport/core'
import type { ExecutionId } from '@sallyport/protocol'
import { Announcements } from '../announcements.ts'
import { Lifetime } from '../lifetime.ts'
import { OneAtATime } from '../one-at-a-time.ts'
import { MemoryApprovals } from './memory-approvals.ts'
import { readAuthority } from './memory-authority.ts'
import { MemoryBindings } from './memory-bindings.ts'
import { MemoryBodies } from './memory-bodies.ts'
import { MemoryCatalogs } from './memory-catalogs.ts'
import { MemoryConnections } from './memory-connections.ts'
import { MemoryCredentials } from './memory-credentials.ts'
import { MemoryDenials } from './memory-denials.ts'
import { MemoryExecutions } from './memory-executions.ts'
import { MemoryGrants } from './memory-grants.ts'
import { MemoryInstances } from './memory-instances.ts'
import { MemoryJournal } from './memory-journal.ts'
import { MemoryKnownKeys } from './memory-known-keys.ts'
import { MemoryOAuth } from './memory-oauth.ts'
import { MemoryProfiles } from './memory-profiles.ts'
import { MemorySandboxes } from './memory-sandboxes.ts'
import { MemorySeals } from './memory-seals.ts'
import { MemoryConditions, MemoryServices } from './memory-services.ts'
import { MemorySessions } from './memory-sessions.ts'
import { MemorySettings } from './memory-settings.ts'
import {
  type CommittedTables,
  changedTables,
  committedTables,
  type MemoryTables,
} from './memory-tables.ts'
import { MemoryUsers } from './memory-users.ts'
import { MemoryWebhooks } from './memory-webhooks.ts'

/** Keeps everything in this process and loses it with it. For tests and for trying things out. */
export function openMemoryStore({ now }: { readonly now: () => number }): Store {
  const committed = committedTables()
  const lifetime = new Lifetime()
  const turns = new OneAtATime()
  const announcements = new Announcements()
  const reads = changedTables(committed, () => lifetime.check())
  return {
    engine: 'memory',
    ...nouns(reads.rows),
    transact: (work) =>
      lifetime.run(() =>
        turns.run(async () => {
          const { result, announced } = await transaction(committed, work, now)
          announcements.tell(announced)
          return result
        }),
      ),
    listen: (heard) => {
      lifetime.check()
      return announcements.listen(heard)
    },
    ping: async () => lifetime.check(),
    close: () => {
      announcements.end()
      return lifetime.close()
    },
  }
}

async function transaction<T>(
  committed: CommittedTables,
  work: (tx: Tx) => Promise<T>,
  clock: () => number,
): Promise<{ result: T; announced: ExecutionId[] }> {
  const announced: ExecutionId[] = []
  let isOver = false
  let failure: TypeError | undefined
  const check = () => {
    if (isOver) throw new TypeError('the transaction has ended')
  }
  const announce = async (ids: readonly ExecutionId[]) => {
    check()
    announced.push(...ids)
  }
  const { rows, commit } = changedTables(committed, check, (error) => {
    failure ??= error
  })
  try {
    const result = await work(memoryTx(rows, clock, announce))
    if (failure) throw failure
    commit()
    return { result, announced }
  } finally {
    isOver = true
  }
}

function memoryTx(rows: MemoryTables, clock: () => number, announce: Tx['announce']): Tx {
  let startedAt: number | undefined
  const now = () => {
    startedAt ??= clock()
    return startedAt
  }
  return {
    ...nouns(rows),
    announce,
    now: async () => now(),
    lockAuthority: async (refs) => readAuthority(rows, refs, now()),
    lockForChange: async () => {},
  }
}

function nouns(rows: MemoryTables) {
  return {
    users: new MemoryUsers(rows),
    connections: new MemoryConnections(rows),
    credentials: new MemoryCredentials(rows),
    catalogs: new MemoryCatalogs(rows),
    profiles: new MemoryProfiles(rows),
    grants: new MemoryGrants(rows),
    sessions: new MemorySessions(rows),
    sandboxes: new MemorySandboxes(rows),
    bindings: new MemoryBindings(rows),
    executions: new MemoryExecutions(rows),
    approvals: new MemoryApprovals(rows),
    bodies: new MemoryBodies(rows),
    journal: new MemoryJournal(rows),
    instances: new MemoryInstances(rows),
    settings: new MemorySettings(rows),
    vaultKeys: new MemoryKnownKeys(rows),
    seals: new MemorySeals(rows),
    webhooks: new MemoryWebhooks(rows),
    oauth: new MemoryOAuth(rows),
    services: new MemoryServices(rows),
    conditions: new MemoryConditions(rows),
    denials: new MemoryDenials(rows),
  }
}
