/** What `sallyport doctor` finds on a machine where something is really wrong, and that its next step mends it. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { issueCertificate } from '@sallyport/protocol/node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectUpstream, publishTools } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'
import { type CommandOptions, runCommand } from './commands.ts'

let home: string
let upstream: Upstream
let sallyport: Sallyport
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'sallyport-doctor-'))
  upstream = await startUpstream()
  sallyport = await startSallyport()
  await publish('good', upstream)
})
afterAll(async () => {
  await sallyport?.remove()
  await upstream?.close()
  rmSync(home, { recursive: true, force: true })
})

async function publish(name: string, { url }: Upstream): Promise<void> {
  await connectUpstream(sallyport, { name, url })
  await publishTools(sallyport, { name, read: ['counter_read'] })
}

interface Finding {
  readonly id: string
  readonly state: 'ok' | 'warning' | 'problem'
  readonly text: string
  readonly who: string | null
  readonly next: string | null
}

interface Examination {
  readonly code: number | null
  readonly stderr: string
  readonly items: readonly Finding[]
  /** Those that are not ok. */
  readonly wrong: readonly Finding[]
  find(id: string): Finding | undefined
}

async function examine(options: Partial<CommandOptions> = {}): Promise<Examination> {
  const place = { dataDir: sallyport.dataDir, home }
  const { code, stdout, stderr } = await runCommand(['doctor', '--json'], { ...place, ...options })
  const { items } = JSON.parse(stdout) as { items: Finding[] }
  return {
    code,
    stderr,
    items,
    wrong: items.filter(({ state }) => state !== 'ok'),
    find: (id) => items.find((item) => item.id === id),
  }
}

async function expectAllOk(): Promise<void> {
  const { code, stderr, wrong, items } = await examine()
  expect({ code, stderr, wrong }).toEqual({ code: 0, stderr: '', wrong: [] })
  expect(items.map(({ id }) => id)).toEqual([
    'node',
    'running',
    'certificate:gateway/authority.pem',
    'certificate:gateway/gateway.pem',
    'certificate:worker/authority.pem',
    'certificate:worker/worker.pem',
    'isolation',
    'store',
    'journal',
    'data-folder',
    'retention',
    'worker',
    'worker-isolation',
    'certificate',
    'vault-keys',
    'core-dumps',
    'connection:good',
  ])
}

test('where all is well, every check is ok and the exit code is 0', expectAllOk)

test('an upstream that is not reachable is the owner’s problem', async () => {
  const gone = await startUpstream()
  await publish('gone', gone)
  await gone.close()
  const { code, stderr, wrong, find } = await examine()
  expect(code).toBe(1)
  expect(stderr).toMatch(/^problems_found: .* \(1 problem\)\.\n$/)
  expect(wrong).toEqual([
    {
      id: 'connection:gone',
      state: 'problem',
      text: 'The server refuses the connection or closes it.',
      who: 'owner',
      next: 'sallyport connection test gone',
    },
  ])
  expect(find('connection:good')).toMatchObject({ state: 'ok' })
  const place = { dataDir: sallyport.dataDir, home }
  const step = await runCommand(['connection', 'test', 'gone', '--json'], place)
  expect(JSON.parse(step.stdout)).toMatchObject({ state: 'failed', code: 'upstream_unreachable' })
  const people = await runCommand(['doctor'], place)
  expect(people).toMatchObject({ code: 1, stderr })
  expect(people.stdout).toMatch(
    /problem {2}connection:gone: The server refuses.*\n {4}who can act: owner\. sallyport connection test gone/,
  )
  await sallyport.api('connection.remove', { name: 'gone' })
  await expectAllOk()
})

test('a catalog that is not published is an administrator’s step, and no failure', async () => {
  const { url } = upstream
  await connectUpstream(sallyport, { name: 'fresh', url })
  const { code, wrong } = await examine()
  expect(code).toBe(0)
  expect(wrong).toEqual([
    {
      id: 'connection:fresh',
      state: 'warning',
      text: 'The server answers; its tools are not published.',
      who: 'administrator',
      next: 'sallyport catalog discover fresh, then review and publish',
    },
  ])
  await publishTools(sallyport, { name: 'fresh', read: ['counter_read'] })
  expect((await examine()).wrong).toEqual([])
  await sallyport.api('connection.remove', { name: 'fresh' })
})

test('a worker that cannot run is the operator’s problem, until it can', async () => {
  const file = join(sallyport.dataDir, 'worker', 'vault.key')
  const key = readFileSync(file)
  writeFileSync(file, 'no key')
  process.kill(sallyport.workerPid() as number, 'SIGKILL')
  try {
    await expect
      .poll(async () => (await examine()).find('worker'), { interval: 500, timeout: 20_000 })
      .toMatchObject({
        state: 'problem',
        text: 'The worker is not running. It is started again by itself; try again in a few seconds.',
        who: 'operator',
        next: 'Wait a few seconds and look again; then read the log of sallyport up.',
      })
    expect((await examine()).code).toBe(1)
    // The log that the next step names says more.
    await expect.poll(() => sallyport.output(), { timeout: 20_000 }).toContain('worker not started')
  } finally {
    writeFileSync(file, key)
  }
  await expect.poll(async () => (await examine()).code, { interval: 500, timeout: 20_000 }).toBe(0)
  await expectAllOk()
})

/** Writes a certificate that ended ten days ago in place of the one that is there. */
function expire(role: 'gateway' | 'worker'): void {
  const ours = join(sallyport.dataDir, 'gateway', 'authority.pem')
  const [certificatePem = '', privateKeyPem = ''] =
    readFileSync(ours, 'utf8').match(/-----BEGIN [\s\S]+?-----END [^\n]+\n/g) ?? []
  const authority = { certificatePem, privateKeyPem }
  const now = Date.now() - 100 * 86_400_000
  const old = issueCertificate({ authority, role, commonName: `Sallyport ${role}`, days: 90, now })
  const file = join(sallyport.dataDir, role, `${role}.pem`)
  writeFileSync(file, old.certificatePem + old.privateKeyPem)
}

test('an expired certificate is found, and the start that it advises makes a new one', async () => {
  await sallyport.stop()
  expire('gateway')
  expire('worker')
  const { code, stderr, find } = await examine()
  expect(code).toBe(3)
  expect(stderr).toMatch(/^unreachable: /)
  expect(find('running')).toMatchObject({ state: 'warning', who: 'operator' })
  for (const role of ['gateway', 'worker']) {
    const file = `${role}/${role}.pem`
    expect(find(`certificate:${file}`)).toMatchObject({
      state: 'problem',
      text: expect.stringMatching(/\.pem expired at \d{4}-\d\d-\d\dT/),
      who: 'operator',
      next: 'Restart "sallyport up": it makes a new one.',
    })
  }
  expect(find('certificate:worker/authority.pem')).toMatchObject({ state: 'ok' })
  await sallyport.restart()
  await expectAllOk()
})

test('a port that another program has is told, beside the Sallyport that is gone', async () => {
  await sallyport.kill()
  const { host, port } = new URL(sallyport.url)
  const free = await examine()
  expect(free.find('control-port')).toMatchObject({
    state: 'ok',
    text: expect.stringContaining(host),
  })
  const other = createServer((_, response) => response.writeHead(404).end())
  await new Promise<void>((resolve) => other.listen(Number(port), '127.0.0.1', resolve))
  try {
    const { code, find } = await examine()
    expect(code).toBe(3)
    expect(find('running')).toMatchObject({
      state: 'warning',
      text: expect.stringMatching(/endpoint\.json .* is stale: process \d+ has ended\./),
    })
    expect(find('control-port')).toEqual({
      id: 'control-port',
      state: 'problem',
      text: `The control address ${host} is taken by another program.`,
      who: 'operator',
      next: 'Stop that program, or start with "sallyport up --port N".',
    })
    expect(find('guest-port')).toMatchObject({ state: 'ok' })
  } finally {
    other.closeAllConnections()
    await new Promise((resolve) => other.close(resolve))
  }
  await sallyport.restart()
  await expectAllOk()
})

const chooseAnother = 'Make it writable, or choose another with SALLYPORT_DATA or "up --data DIR".'
const isRoot = process.getuid?.() === 0
/** What is forbidden to everybody is not forbidden to root, so root lets somebody else look. */
const somebody = isRoot ? { uid: 65_534 } : {}

test('a data folder that cannot be written is found, and up says the same', async () => {
  const dataDir = join(home, 'locked')
  const theirs = join(home, 'theirs')
  for (const folder of [dataDir, theirs]) mkdirSync(folder)
  chmodSync(home, 0o755)
  chmodSync(theirs, 0o777)
  chmodSync(dataDir, 0o555)
  const options = { dataDir, home: theirs, ...somebody }
  try {
    expect((await examine(options)).find('data-folder')).toEqual({
      id: 'data-folder',
      state: 'problem',
      text: `${dataDir} cannot be written.`,
      who: 'operator',
      next: chooseAnother,
    })
    const up = await runCommand(['up', '--port', '0', '--guest-port', '0'], options)
    expect(up).toMatchObject({ code: 1, stdout: '' })
    expect(up.stderr).toMatch(/data_not_writable: .* — who can act: operator\.\n$/)
    chmodSync(dataDir, 0o777)
    expect((await examine(options)).find('data-folder')).toMatchObject({ state: 'ok' })
  } finally {
    chmodSync(dataDir, 0o755)
  }
})

test('a file in the place of the data folder is found, and up says the same', async () => {
  const dataDir = join(home, 'file')
  writeFileSync(dataDir, '')
  expect((await examine({ dataDir })).find('data-folder')).toMatchObject({
    state: 'problem',
    text: `${dataDir} is not a folder.`,
    next: chooseAnother,
  })
  const up = await runCommand(['up', '--port', '0', '--guest-port', '0'], { dataDir, home })
  expect(up).toMatchObject({ code: 1, stdout: '' })
  expect(up.stderr).toMatch(/data_not_writable: .* — who can act: operator\.\n$/)
})

/** The machine's own Node, not the pinned one that npm puts first. */
const machineNode = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .map((folder) => join(folder, 'node'))
  .find((path) => existsSync(path))
const isOld =
  machineNode !== undefined &&
  Number(execFileSync(machineNode, ['-p', 'parseInt(process.versions.node)']).toString()) < 24

test.skipIf(!isOld)('a Node that is too old goes on under the pinned one, or says so', async () => {
  const node = [machineNode as string]
  const found = (await examine({ node })).find('node')
  expect(found).toMatchObject({ state: 'ok', text: expect.stringMatching(/^Node 24\./) })
  const hide = join(home, 'hide.cjs')
  writeFileSync(
    hide,
    `const Module = require('node:module')
const resolve = Module._resolveFilename
Module._resolveFilename = function (name, ...rest) {
  if (/^node-(linux|win|darwin)-/.test(name)) throw new Error('hidden')
  return resolve.call(this, name, ...rest)
}`,
  )
  for (const words of [['doctor'], ['up']])
    expect(
      await runCommand(words, {
        dataDir: sallyport.dataDir,
        home,
        node: [...node, '--require', hide],
      }),
    ).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'wrong_node: Node 24 or later is needed. — who can act: operator. Install Node 24, or run "npm ci" with optional packages.\n',
    })
})
