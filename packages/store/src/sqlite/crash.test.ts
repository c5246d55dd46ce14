import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import type { ExecutionId } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import { start } from '../contract/examples.ts'
import { openSqliteStore } from './open-sqlite-store.ts'

const rounds = 25
const module = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)

/** Commits groups of rows and settles them, and says after each confirmation what it was. */
const writer = (file: string, round: number) => `
  import { writeSync } from 'node:fs'
  import { flushCompileCache } from 'node:module'
  import { exampleExecution } from ${module('../contract/examples.ts')}
  import { openSqliteStore } from ${module('./open-sqlite-store.ts')}
  flushCompileCache()
  const store = await openSqliteStore({ file: ${JSON.stringify(file)}, now: Date.now, onFatal() {} })
  const say = (state, rows) => writeSync(1, rows.map(({ id }) => state + ' ' + id + '\\n').join(''))
  const id = (n) => 'exe_${round}_' + String(n).padStart(8, '0')
  for (let n = 0; ; n += 20) {
    const rows = Array.from({ length: 20 }, (_, i) => exampleExecution({ id: id(n + i), callId: id(n + i) }))
    const flush = n % 40 ? 'wait' : 'later'
    await store.transact((tx) => tx.executions.insert(rows), { flush })
    say('dispatching', rows)
    const settled = rows.map(({ id }) => (
      { id, from: ['dispatching'], state: 'succeeded', finishedAt: n }))
    await store.transact((tx) => tx.executions.settle(settled), { flush })
    say('succeeded', rows)
  }`

async function killedAfter(child: ChildProcess, ms: number): Promise<Map<string, string>> {
  let said = ''
  child.stdout?.on('data', (chunk) => {
    said += chunk
  })
  await once(child.stdout as NodeJS.ReadableStream, 'data')
  await delay(ms)
  child.kill('SIGKILL')
  await once(child, 'close')
  const whole = said.slice(0, said.lastIndexOf('\n')).split('\n')
  return new Map(whole.map((line) => line.split(' ').reverse() as [string, string]))
}

test('loses nothing it has confirmed, and tears nothing, however it is killed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-crash-'))
  const file = join(folder, 'data.db')
  // What is killed leaves no cache to the next one by itself.
  const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, 'compiled') }
  const confirmed = new Map<string, string>()
  for (let round = 0; round < rounds; round++) {
    const args = ['--input-type=module', '-e', writer(file, round)]
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
    for (const [id, state] of await killedAfter(child, (round * 7) % 60)) confirmed.set(id, state)
  }
  const db = new DatabaseSync(file)
  expect(db.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  db.close()
  const store = await openSqliteStore({ file, now: () => start, onFatal: () => {} })
  const order = ['dispatching', 'succeeded']
  const lost: string[] = []
  for (const [id, state] of confirmed) {
    const row = await store.executions.get(id as ExecutionId)
    if (!row || order.indexOf(row.state) < order.indexOf(state)) lost.push(id)
  }
  expect(lost).toEqual([])
  expect(confirmed.size).toBeGreaterThan(rounds * 20)
  await store.close()
  rmSync(folder, { recursive: true })
}, 120_000)
