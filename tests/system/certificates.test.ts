/** A Sallyport that runs for months: it renews the certificates of its two processes by itself. */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'

const preload = fileURLToPath(new URL('../harness/hurried-timers.mjs', import.meta.url))
let sallyport: Sallyport
beforeAll(async () => {
  sallyport = await startSallyport({ preload })
}, 60_000)
afterAll(() => sallyport?.remove())

test('looks after its certificates while it runs', async () => {
  const file = join(sallyport.dataDir, 'worker', 'worker.pem')
  rmSync(file)
  await expect.poll(() => existsSync(file), { timeout: 10_000 }).toBe(true)
  expect((await sallyport.api('status.show')).worker.state).toBe('up')
})
