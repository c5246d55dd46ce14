/** The command line against a whole Sallyport: what no scripted API can show. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthority, issueCertificate } from '@sallyport/protocol/node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { type SdkServer, startSdkServer } from '../upstreams/sdk-modern-server.ts'

const launcher = join(import.meta.dirname, '..', '..', 'apps', 'cli', 'bin', 'sallyport.js')
let folder: string
let sallyport: Sallyport
let upstream: SdkServer
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-cli-system-'))
  sallyport = await startSallyport()
  upstream = await startSdkServer({ bearer: 'right' })
})
afterAll(async () => {
  await upstream.close()
  await sallyport.remove()
  rmSync(folder, { recursive: true })
})

async function run(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [launcher, ...words], {
    cwd: folder,
    env: { HOME: folder, SALLYPORT_DATA: sallyport.dataDir, ...env },
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const [code] = await once(child, 'close')
  return { code, stdout, stderr }
}

async function findings() {
  const { code, stdout, stderr } = await run(['doctor', '--json'])
  const items: { id: string; state: string; text: string; who: string; next: string }[] =
    JSON.parse(stdout).items
  return { code, stderr, items }
}

test('finds address and token of an up on the same machine by itself', async () => {
  const { code, stdout } = await run(['status'])
  expect(code).toBe(0)
  expect(stdout).toContain(sallyport.url)
  expect(stdout).toContain('admin (admin)')
})

test('programs and people as connections: not available, and not allowed for a member', async () => {
  const forms = [
    ['connection', 'add', 'files', '--cwd', '/srv', '--', 'npx', 'server'],
    ['connection', 'add', 'ask', '--person', '--tools', 'tools.json'],
  ]
  for (const words of forms)
    expect(await run(words)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^transport_not_available: [^\n]*\n$/),
    })
  await run(['user', 'add', 'mo', '--role', 'member'])
  expect(await run(['token', 'create', '--user', 'mo', '--file', 'mo.token'])).toMatchObject({
    code: 0,
  })
  for (const words of forms)
    expect(await run(words, { SALLYPORT_TOKEN_FILE: 'mo.token' })).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/^not_allowed: [^\n]*\n$/),
    })
})

test('a new secret for the same URL goes on where a wrong one failed', async () => {
  writeFileSync(join(folder, 'wrong'), 'wrong\n')
  writeFileSync(join(folder, 'right'), 'right\n')
  await run(['connection', 'add', 'sdk', upstream.url, '--bearer-file', 'wrong'])
  expect(await run(['catalog', 'discover', 'sdk'])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^upstream_http_401: /),
  })
  const edit = ['connection', 'edit', 'sdk', '--bearer-file', 'right']
  expect(await run([...edit, '--same-url', upstream.url])).toMatchObject({ code: 0 })
  expect(await run(['catalog', 'discover', 'sdk'])).toMatchObject({ code: 0 })
})

test('a secret that names another place than the connection does not go out', async () => {
  const edit = ['connection', 'edit', 'sdk', '--bearer-file', 'right']
  await run([...edit, '--same-url', upstream.url.replace('/mcp', '/other')])
  expect(await run(['connection', 'test', 'sdk'])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^destination_refused: /),
  })
  await run([...edit, '--same-url', upstream.url])
  expect(await run(['connection', 'test', 'sdk'])).toMatchObject({ code: 0 })
})

test('doctor finds an unpublished catalog and a server that is away', async () => {
  const closed = await startSdkServer()
  await closed.close()
  await run(['connection', 'add', 'away', closed.url])
  const { code, items } = await findings()
  expect(code).toBe(1)
  const about = (id: string) => items.find((one) => one.id === id)
  expect(about('connection:sdk')).toMatchObject({ state: 'warning', who: 'administrator' })
  expect(about('connection:sdk')?.next).toContain('catalog discover sdk')
  expect(about('connection:away')).toMatchObject({ state: 'problem', who: 'owner' })
  expect(about('worker')).toMatchObject({ state: 'ok' })
})

test('doctor finds what keeps up from starting, and ends with 3', async () => {
  const { url } = sallyport
  const running = readFileSync(join(sallyport.dataDir, 'endpoint.json'))
  await sallyport.stop()
  expect(await run(['status'])).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/^unreachable: .* Start it with "sallyport up"[^\n]*\n$/),
  })
  writeFileSync(join(sallyport.dataDir, 'endpoint.json'), running)
  const program = await hold(Number(new URL(url).port))
  expireWorkerCertificate()
  try {
    const { code, stderr, items } = await findings()
    expect(code).toBe(3)
    expect(stderr).toMatch(/^unreachable: [^\n]*\n$/)
    const problems = items.filter(({ state }) => state === 'problem').map(({ text }) => text)
    expect(problems).toEqual([
      `The control address ${new URL(url).host} is taken by another program.`,
      expect.stringMatching(/worker\.pem expired at /),
    ])
    expect(items.find(({ id }) => id === 'running')?.text).toContain('stale')
  } finally {
    program.close()
  }
  await sallyport.restart()
  const { items } = await findings()
  const odd = items.filter(({ id, state }) => id.startsWith('certificate') && state !== 'ok')
  expect(odd).toEqual([])
})

async function hold(port: number): Promise<Server> {
  const server = createServer((socket) => socket.destroy())
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}

function expireWorkerCertificate(): void {
  const now = Date.now() - 10 * 86_400_000
  const authority = createAuthority({ commonName: 'a test', days: 5, now })
  const issued = issueCertificate({ authority, role: 'worker', commonName: 'a test', days: 3, now })
  const path = join(sallyport.dataDir, 'worker', 'worker.pem')
  writeFileSync(path, issued.certificatePem + issued.privateKeyPem)
}
