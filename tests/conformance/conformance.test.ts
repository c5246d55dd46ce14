import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectAndGrant } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import type { Upstream } from '../upstreams/scripted-upstream.ts'
import { startConformanceUpstream } from './conformance-upstream.ts'
import { runSuite } from './run-suite.ts'

let upstream: Upstream
let sallyport: Sallyport
let guest: { endpoint: string; token: string }

beforeAll(async () => {
  const token = randomBytes(24).toString('hex')
  upstream = await startConformanceUpstream(token)
  sallyport = await startSallyport()
  const session = await connectAndGrant(sallyport, {
    name: 'fixture',
    url: upstream.url,
    token,
    read: ['*'],
    profile: 'conformance',
  })
  guest = { endpoint: `${sallyport.guestUrl}/mcp/fixture`, token: session.token }
})
afterAll(async () => {
  await sallyport?.remove()
  await upstream?.close()
})

const expectedFailures = (name: string) => [
  '--expected-failures',
  fileURLToPath(new URL(`./expected-failures-${name}.yml`, import.meta.url)),
]

async function expectPass(...args: string[]): Promise<string> {
  const { code, output } = await runSuite(guest, args)
  expect(code, output.slice(-20_000)).toBe(0)
  return output
}

test.each(['2025-11-25', '2026-07-28'])(
  'meets what %s requires of a server with tools',
  async (revision) => {
    const before = upstream.count('tools/call')
    const output = await expectPass('--requirements', revision, ...expectedFailures(revision))
    expect(output).toMatch(/✓ tools-call-simple-text/)
    expect(upstream.count('tools/call')).toBeGreaterThan(before)
  },
  180_000,
)

// Not scored under a revision's requirements, so run by name or they could not fail.
test.each(['http-header-validation', 'http-custom-header-server-validation'])(
  'passes %s',
  async (scenario) => {
    await expectPass('--scenario', scenario, '--spec-version', '2026-07-28')
  },
  60_000,
)

test('passes json-schema-2020-12 but for what a flat schema tells in words', async () => {
  const version = ['--spec-version', '2026-07-28']
  await expectPass('--scenario', 'json-schema-2020-12', ...version, ...expectedFailures('schema'))
}, 60_000)

test('the suite fails where there is nothing behind the endpoint', async () => {
  const nobody = { ...guest, token: randomBytes(32).toString('base64url') }
  const { code } = await runSuite(nobody, ['--scenario', 'ping', '--spec-version', '2025-11-25'])
  expect(code).not.toBe(0)
  await expectPass('--scenario', 'ping', '--spec-version', '2025-11-25')
}, 60_000)

test('an expected failure that passes after all fails the run', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-stale-'))
  const stale = join(folder, 'stale.yml')
  await writeFile(stale, 'server:\n  - ping\n')
  const scenario = ['--scenario', 'ping', '--spec-version', '2025-11-25']
  const { code } = await runSuite(guest, [...scenario, '--expected-failures', stale])
  await rm(folder, { recursive: true })
  expect(code).toBe(1)
}, 60_000)
