/** Retention on a database that somebody has damaged. */

import { sweepBodies } from '@sallyport/core'
import type { ExecutionId } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import { sqliteDatabase } from '../journal/databases.ts'
import { anyConnection, askWrite } from './asked-writes.ts'
import { code, newWorld } from './world.ts'

test.each([
  ["UPDATE executions SET state = 'nonsense'", "UPDATE executions SET state = 'succeeded'"],
  ["UPDATE bodies SET kind = 'rumour'", "UPDATE bodies SET kind = 'result'"],
])('a row that cannot be read stops it: %s', async (damage, repair) => {
  const { store, query, close } = await sqliteDatabase()
  try {
    const w = await newWorld(store)
    const connection = await anyConnection(w, w.admin)
    const ids: ExecutionId[] = []
    for (let n = 0; n < 2; n++) {
      const asked = await askWrite(w, w.alice, connection, {
        execution: { state: 'succeeded', finishedAt: 1, callId: `call ${n}` },
      })
      ids.push(asked.execution.id)
    }
    const sealed = Buffer.from('sealed')
    await store.transact((tx) =>
      tx.bodies.insert(
        ids.map((executionId) => ({ executionId, kind: 'result', sealed, dueAt: 1 })),
      ),
    )
    const column = damage.includes('bodies') ? 'execution_id' : 'id'
    await query(`${damage} WHERE ${column} = '${ids[1]}'`)
    await expect(sweepBodies(store)).rejects.toMatchObject(code('row_unreadable'))
    expect(await query('SELECT execution_id FROM bodies')).toHaveLength(2)
    await query(`${repair} WHERE ${column} = '${ids[1]}'`)
    expect(await sweepBodies(store)).toBe(2)
    expect(await query('SELECT execution_id FROM bodies')).toEqual([])
  } finally {
    await close()
  }
})
