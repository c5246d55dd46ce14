import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'

const script = fileURLToPath(new URL('../../scripts/install-clients.ts', import.meta.url))
/** Those that every run of the tests drives. */
const usual = [
  'claude-2.1.332',
  'codex-0.171.0',
  'inspector-2.12.0',
  'pi-1.6.0',
  'claude-acp-0.101.0',
]
let cache: string
beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), 'sallyport-cache-'))
})
afterEach(() => rm(cache, { recursive: true }))

async function markInstalled(clients: readonly string[]): Promise<void> {
  for (const client of clients) {
    await mkdir(join(cache, client))
    await writeFile(join(cache, client, 'installed'), '')
  }
}

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
  expect(stderr).toContain('not run: pi 1.6.0')
})

test('a client that is left to the whole suite is named, and missing it is a failure only there', async () => {
  await markInstalled(usual)
  const { code, stderr } = await install({ SALLYPORT_REQUIRE_CLIENTS: '1' })
  expect(code).toBe(0)
  expect(stderr).toContain('not run: opencode 1.18.33 is left to npm run test:all')
  expect(stderr).toContain('not run: gemini 0.61.0 is left to npm run test:all')
  const whole = await install({ SALLYPORT_REQUIRE_CLIENTS: '1', SALLYPORT_TEST_ALL: '1' })
  expect(whole.code).toBe(1)
  expect(whole.stderr).toContain('not run: opencode 1.18.33 could not be installed')
})

test('a client that cannot be installed is a failure where clients are required', async () => {
  await markInstalled(usual.slice(1))
  const { code, stderr } = await install({ SALLYPORT_REQUIRE_CLIENTS: '1' })
  expect(code).toBe(1)
  expect(stderr).toContain('not run: claude 2.1.332')
})

test('the lock of a process that is gone holds nobody up', async () => {
  await markInstalled(usual.slice(1))
  await writeFile(join(cache, `${usual[0]}.lock`), '4194304')
  expect((await install({})).code).toBe(0)
})
