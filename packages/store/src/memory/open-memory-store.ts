import type { Store, Tx } from '@sallyport/core'
import { Lifetime } from '../lifetime.ts'
import { OneAtATime } from '../one-at-a-time.ts'
import { readAuthority } from './memory-authority.ts'
import { MemoryBindings } from './memory-bindings.ts'
import { MemoryCatalogs } from './memory-catalogs.ts'
import { MemoryConnections } from './memory-connections.ts'
import { MemoryCredentials } from './memory-credentials.ts'
import { MemoryExecutions } from './memory-executions.ts'
import { MemoryGrants } from './memory-grants.ts'
import { MemoryInstances } from './memory-instances.ts'
import { MemoryJournal } from './memory-journal.ts'
import { MemoryProfiles } from './memory-profiles.ts'
import { MemorySessions } from './memory-sessions.ts'
import { MemorySettings } from './memory-settings.ts'
import {
  type CommittedTables,
  changedTables,
  committedTables,
  type MemoryTables,
} from './memory-tables.ts'
import { MemoryUsers } from './memory-users.ts'

/** Keeps everything in this process and loses it with it. For tests and for trying things out. */
export function openMemoryStore({ now }: { readonly now: () => number }): Store {
  const committed = committedTables()
  const lifetime = new Lifetime()
  const turns = new OneAtATime()
  const reads = changedTables(committed, () => lifetime.check())
  return {
    engine: 'memory',
    ...nouns(reads.rows),
    transact: (work) => lifetime.run(() => turns.run(() => transaction(committed, work, now))),
    ping: async () => lifetime.check(),
    close: () => lifetime.close(),
  }
}

async function transaction<T>(
  committed: CommittedTables,
  work: (tx: Tx) => Promise<T>,
  clock: () => number,
): Promise<T> {
  let isOver = false
  let failure: TypeError | undefined
  const { rows, commit } = changedTables(
    committed,
    () => {
      if (isOver) throw new TypeError('the transaction has ended')
    },
    (error) => {
      failure ??= error
    },
  )
  try {
    const result = await work(memoryTx(rows, clock))
    if (failure) throw failure
    commit()
    return result
  } finally {
    isOver = true
  }
}

function memoryTx(rows: MemoryTables, clock: () => number): Tx {
  let startedAt: number | undefined
  const now = () => {
    startedAt ??= clock()
    return startedAt
  }
  return {
    ...nouns(rows),
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
    bindings: new MemoryBindings(rows),
    executions: new MemoryExecutions(rows),
    journal: new MemoryJournal(rows),
    instances: new MemoryInstances(rows),
    settings: new MemorySettings(rows),
  }
}
