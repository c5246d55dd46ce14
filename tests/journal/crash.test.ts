/** Killed while it appends: no page without its rows, no row without its page, and every chain whole. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openSqliteStore } from '@sallyport/store'
import { expect, test } from 'vitest'
import { Recorder } from './journal-world.ts'

const rounds = 20
const states = ['dispatching', 'succeeded'] as const
const onFatal = (error: unknown) => {
  throw error
}
const module = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)

/** Two lanes, as a gateway has, checkpoints among them; says how many events it has confirmed. */
const writer = (file: string, seed: number) => `
  import { writeSync } from 'node:fs'
  import { flushCompileCache } from 'node:module'
  import { openSqliteStore } from ${module('../../packages/store/src/index.ts')}
  import { Recorder } from ${module('./journal-world.ts')}
  flushCompileCache()
  const store = await openSqliteStore({ file: ${JSON.stringify(file)}, now: Date.now, onFatal() {} })
  const recorder = await new Recorder(store, { seed: ${seed} }).begin()
  let confirmed = 0
  const lane = async () => {
    for (let open = []; ; ) {
      const next = await recorder.pass(8, open)
      confirmed += next.length + open.length
      open = next
      writeSync(1, confirmed + '\\n')
    }
  }
  const checkpoints = async () => {
    for (;;) await recorder.checkpoints.write()
  }
  await Promise.all([lane(), lane(), checkpoints()])`

async function confirmedUntilKilled(child: ChildProcess, ms: number): Promise<number> {
  let said = ''
  child.stdout?.on('data', (chunk) => {
    said += chunk
  })
  await once(child.stdout as NodeJS.ReadableStream, 'data')
  await delay(ms)
  child.kill('SIGKILL')
  await once(child, 'close')
  return Number(said.slice(0, said.lastIndexOf('\n')).split('\n').at(-1))
}

test('verifies after every kill, and has all that was confirmed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-journal-crash-'))
  const file = join(folder, 'data.db')
  // What is killed leaves no cache to the next one by itself.
  const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, 'compiled') }
  let confirmed = 0
  for (let round = 0; round < rounds; round++) {
    const args = ['--input-type=module', '-e', writer(file, (round % 3) + 1)]
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
    confirmed += await confirmedUntilKilled(child, (round * 7) % 60)
    const store = await openSqliteStore({ file, now: Date.now, onFatal })
    const auditor = await new Recorder(store, { seed: 9 }).begin()
    const before = await store.journal.newestCheckpoint()
    // As a gateway does when it starts: the leases of those before it are over.
    await store.transact(async (tx) => {
      for (const { id } of await tx.instances.list())
        if (id !== auditor.instance) await tx.instances.end(id)
    })
    const { findings, checked, notYetCovered } = await auditor.verify()
    expect({ findings, notYetCovered }).toEqual({ findings: [], notYetCovered: 0 })
    expect(checked.events).toBeGreaterThanOrEqual(confirmed)
    const counts = await Promise.all(states.map((state) => store.executions.count(state)))
    expect(checked.executions).toBe(counts.reduce((sum, count) => sum + count, 0))
    expect(checked.checkpoints).toBeGreaterThanOrEqual(before?.sequence ?? 0)
    confirmed = checked.events
    await store.close()
  }
  expect(confirmed).toBeGreaterThan(rounds * 20)
  rmSync(folder, { recursive: true })
}, 120_000)
