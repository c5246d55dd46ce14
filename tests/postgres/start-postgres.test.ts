import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { expect, test } from 'vitest'
import { startPostgres } from './start-postgres.ts'

test('starts a durable Postgres on a Unix socket and leaves nothing behind', async () => {
  const postgres = await startPostgres()
  const folder = new URL(postgres.url).searchParams.get('host') ?? ''
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  const { rows } = await client.query(
    "SELECT current_setting('fsync') AS fsync, current_setting('listen_addresses') AS listen",
  )
  await client.end()
  expect(rows).toEqual([{ fsync: 'on', listen: '' }])
  expect(existsSync(folder)).toBe(true)
  await postgres.stop()
  expect(existsSync(folder)).toBe(false)
})

test('ends when the process that started it is killed', async () => {
  const module = JSON.stringify(new URL('./start-postgres.ts', import.meta.url).href)
  const script = `import { startPostgres } from ${module}
    console.log((await startPostgres()).url)
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [chunk] = await once(child.stdout, 'data')
  const home = new URL(String(chunk).trim()).searchParams.get('host') ?? ''
  const pidFile = join(home, 'data', 'postmaster.pid')
  expect(existsSync(pidFile)).toBe(true)
  child.kill('SIGKILL')
  for (let i = 0; i < 500 && existsSync(pidFile); i++) await delay(20)
  expect(existsSync(pidFile)).toBe(false)
  rmSync(join(home, '..'), { recursive: true })
})
