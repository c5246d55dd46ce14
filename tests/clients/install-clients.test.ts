import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'

const script = fileURLToPath(new URL('../../scripts/install-clients.ts', import.meta.url))
let cache: string
beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), 'sallyport-cache-'))
})
afterEach(() => rm(cache, { recursive: true }))

/** With a registry that nobody answers for. */
function install(variables: Record<string, string>) {
  const { PATH = '' } = process.env
  const nowhere = { npm_config_registry: 'http://127.0.0.1:9', npm_config_fetch_retries: '0' }
  const env = { PATH, HOME: cache, SALLYPORT_CLIENT_CACHE: cache, ...nowhere, ...variables }
  return new Promise<{ code: number; stderr: string }>((resolve) => {
    execFile(process.execPath, [script], { env }, (error, _stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stderr })
    })
  })
}

test('a client that cannot be installed is named as not run', async () => {
  const { code, stderr } = await install({})
  expect(code).toBe(0)
  expect(stderr).toContain('not run: claude 2.1.332')
  expect(stderr).toContain('not run: codex 0.171.0')
  expect(stderr).toContain('not run: inspector 2.12.0')
})

test('a client that cannot be installed is a failure where clients are required', async () => {
  const { code, stderr } = await install({ SALLYPORT_REQUIRE_CLIENTS: '1' })
  expect(code).toBe(1)
  expect(stderr).toContain('not run: claude 2.1.332')
})

test('the lock of a process that is gone holds nobody up', async () => {
  for (const client of ['claude-2.1.332', 'codex-0.171.0', 'inspector-2.12.0'])
    await writeFile(join(cache, `${client}.lock`), '4194304')
  expect((await install({})).code).toBe(0)
})
