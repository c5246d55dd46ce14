/**
 * What the barrier's transaction costs in the embedded store: `npx node scripts/measure-store.ts`. Prints microseconds for
 * each call, alone and in groups, with and without waiting for the flush. Absolute times: compare runs of one machine.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AuthorityRefs, Execution, Settlement } from '@sallyport/core'
import { idSource } from '@sallyport/protocol'
import { openSqliteStore } from '@sallyport/store'
import {
  exampleCatalog,
  exampleConnection,
  exampleCredential,
  exampleExecution,
  exampleGrant,
  exampleProfile,
  exampleSession,
} from '../packages/store/src/contract/examples.ts'

const ids = idSource(Date.now, (size) => randomBytes(size))
const folder = mkdtempSync(join(tmpdir(), 'sallyport-measure-'))
const onFatal = (error: unknown) => {
  throw error
}
const store = await openSqliteStore({ file: join(folder, 'data.db'), now: Date.now, onFatal })
const session = exampleSession()
const refs = await authority()

async function authority(): Promise<AuthorityRefs> {
  const [connection, credential, catalog] = [
    exampleConnection(),
    exampleCredential(),
    exampleCatalog(),
  ]
  const [profile, grant] = [exampleProfile(), exampleGrant()]
  await store.transact(async (tx) => {
    await tx.connections.insert(connection, 25)
    await tx.credentials.insert(credential)
    await tx.catalogs.insert(catalog, [])
    await tx.profiles.insert(profile)
    await tx.grants.insert(grant)
    await tx.sessions.insert(session)
  })
  return {
    connections: [connection.id],
    credentials: [credential.id],
    catalogs: [catalog.id],
    profiles: [profile.id],
    grants: [grant.id],
    sessions: [session.id],
  }
}

function newCall(callId: string): Execution {
  const { id: sessionId, ownerId } = session
  return exampleExecution({ id: ids('execution'), sessionId, ownerId, callId })
}

const outcome = ({ id }: Execution): Settlement => ({
  id,
  from: ['dispatching'],
  state: 'succeeded',
  finishedAt: Date.now(),
  resultDigest: `sha256:${'c'.repeat(64)}`,
  resultBytes: 200,
  tookMs: 1.5,
})

interface Run {
  readonly group: number
  readonly flush: 'wait' | 'later'
  /** Ids of calls that sort by time stay on few pages of the index. */
  readonly callIds: 'by time' | 'random'
}

/** Each transaction settles the calls of the one before it and lets the next group through, as the gateway does. */
async function measure({ group, flush, callIds }: Run): Promise<void> {
  const callId = () => (callIds === 'random' ? randomBytes(16).toString('hex') : ids('intent'))
  const times: number[] = []
  let before: Execution[] = []
  for (let i = 0; i < Math.max(100, 2000 / group); i++) {
    const calls = Array.from({ length: group }, () => newCall(callId()))
    const begun = performance.now()
    await store.transact(
      async (tx) => {
        await tx.executions.settle(before.map(outcome))
        await tx.lockAuthority(refs)
        await tx.executions.insert(calls)
      },
      { flush },
    )
    await new Promise((resolve) => setImmediate(resolve))
    times.push(((performance.now() - begun) * 1000) / group)
    before = calls
  }
  times.sort((a, b) => a - b)
  const at = (share: number) => (times[Math.floor(times.length * share)] ?? 0).toFixed(1)
  const mean = (times.reduce((sum, time) => sum + time, 0) / times.length).toFixed(1)
  const name = `${group} calls, ${flush}, ids ${callIds}`
  console.log(`${name.padEnd(32)} p50 ${at(0.5)}  mean ${mean}  p99 ${at(0.99)}  µs a call`)
}

for (const callIds of ['by time', 'random'] as const) {
  for (const group of [1, 16, 64]) {
    await measure({ group, flush: 'later', callIds })
    await measure({ group, flush: 'wait', callIds })
  }
}
await store.close()
rmSync(folder, { recursive: true })
