/** With every way to deliver tools and every harness no secret is where somebody else could find it; planted ones are found. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import {
  type AgentName,
  agentAdapter,
  agentPrograms,
  bubblewrap,
  genericHarness,
} from '@sallyport/launcher'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sandboxSuite } from '../../packages/launcher/src/testing/sandbox-suite.ts'
import { findClient } from '../clients/install-clients.ts'
import { guestClient } from '../sandbox/guest-client.ts'
import { launchedRun } from './launched-run.ts'
import { LeakScan, leakPlaces } from './leak-scan.ts'
import { LeakWorld } from './leak-world.ts'

const secret = `planted-${'0123456789abcdef'.repeat(2)}`
const backwards = (text: string): string => text.split('').reverse().join('')

const client = guestClient(
  [
    { name: 'signed__counter_read', arguments: {} },
    { name: 'held__hold', arguments: {} },
  ],
  100_000,
)
const node = (program: string, ...more: string[]) => ['/opt/sallyport/node', '-e', program, ...more]
const askModel = `
const asked = (words) => fetch(process.env.SANDBOX_MODEL_URL + '/v1/messages', {
  method: 'POST', headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'x-api-key': 'guess' },
  body: JSON.stringify({ model: 'fake', max_tokens: 9, messages: [{ role: 'user', content: words }] }) })
`

await sandboxSuite(bubblewrap(), () => {
  let world: LeakWorld
  beforeAll(async () => {
    world = await LeakWorld.start()
  })
  afterAll(() => world.end())

  test('a command that uses its tools and its model leaves no secret anywhere', async () => {
    const before = world.model.requests.length
    const { leaks, scan, end, output } = await world.run({
      harness: genericHarness,
      words: node(`${askModel};asked('hello').then((got) => got.text());${client}`),
      provider: 'anthropic',
    })
    expect(leaks).toEqual([])
    expect(end, output).toMatchObject({ code: 0, reason: 'guest_ended' })
    expect(output).toContain('released')
    expect(world.model.requests.length).toBeGreaterThan(before)
    for (const place of leakPlaces) expect(scan.looked(place), place).toBeGreaterThan(0)
  }, 120_000)

  const inShort: AgentName[] = ['claude', 'codex']
  const agents: AgentName[] = process.env['SALLYPORT_TEST_ALL']
    ? (Object.keys(agentPrograms) as AgentName[])
    : inShort
  describe.each(agents)('%s', async (name) => {
    const { program, reason = '' } = await findClient(name)
    test.skipIf(program === undefined)(
      `leaves no secret anywhere${program === undefined ? `: not run, ${reason}` : ''}`,
      async () => {
        const { leaks, scan, output } = await world.run({
          harness: agentAdapter(agentPrograms[name]),
          words: wordsOf[name],
          // As an argument it would be written in other quotes.
          ...(name === 'opencode' ? { stdin: prompt } : {}),
          provider: agentPrograms[name].provider,
          ...(program === undefined ? {} : { programPath: program }),
        })
        expect(leaks, output).toEqual([])
        for (const place of leakPlaces) expect(scan.looked(place), place).toBeGreaterThan(0)
      },
      180_000,
    )
  })

  describe('the launcher, as a process of its own', () => {
    const program = `${askModel};asked('hello').then((got) => got.text());${client}`
    const places = ['argument', 'environment', 'descriptor'] as const
    /** It adds the key of the model to the guest's requests, and asks the gateway as whoever started it. */
    const its = ['launcher memory: control token', 'launcher memory: model key']

    test('has in its memory what it works with, nothing of a connection, and shows nothing of it', async () => {
      const { found, scan, ended } = await launchedRun(world, { program })
      expect(ended.code, ended.stderr).toBe(0)
      expect(found.toSorted()).toEqual(its)
      for (const side of ['', 'guest '] as const)
        for (const place of places) expect(scan.looked(`${side}${place}`)).toBeGreaterThan(0)
      expect(scan.looked('guest memory')).toBeGreaterThan(2)
    }, 120_000)

    test('given its key by a variable, shows it there to its own user, and to no guest', async () => {
      const env = { ANTHROPIC_API_KEY: world.modelKey }
      const { found } = await launchedRun(world, { program, env })
      expect(found.toSorted()).toEqual(['environment: model key', ...its])
    }, 120_000)
  })

  // Last: what it plants stays in the world.
  test('each secret that was planted is found, where it was planted', async () => {
    const known = world.known()
    const program = `
${askModel}
const files = require('node:fs')
const [memory, both, descriptor] = process.argv.slice(1).map((text) => text.split('').reverse().join(''))
const fd = files.openSync('/tmp/planted', 'w+'); files.writeSync(fd, descriptor); files.unlinkSync('/tmp/planted')
globalThis.kept = [memory]
console.log(both)
asked(both)
${client}`
    const { adminToken, dataDir } = world.sallyport
    expect(adminToken).toBe(known['control token'])
    const { leaks } = await world.run({
      harness: genericHarness,
      words: node(
        program,
        backwards(known['refresh token']),
        backwards(known['vault key']),
        backwards(known['access token']),
        known['model key'],
      ),
      provider: 'anthropic',
      environment: { PLANTED: known['control token'] },
      whileHeld: async ({ workspace, secrets }) => {
        writeFileSync(join(workspace, 'planted'), btoa(`so ${known['upstream credential']} it is`))
        appendFileSync(join(dataDir, 'gateway', 'worker.log'), `${secrets['session token']}\n`)
        chmodSync(join(dataDir, 'admin-token'), 0o644)
        const { api } = world.sallyport
        await api('profile.create', {}, { name: 'planted' })
        await api('session.create', {}, { profile: 'planted', label: secrets['owner key'] ?? '' })
      },
    })
    const found = leaks.map(({ place, secret: name }) => `${place}: ${name}`)
    for (const planted of [
      'guest argument: model key',
      'guest environment: control token',
      'guest file: upstream credential',
      'guest descriptor: access token',
      'guest memory: refresh token',
      'output: vault key',
      'model transcript: vault key',
      'log: session token',
      'file: session token',
      'file mode: control token',
      'database row: owner key',
      'API answer: owner key',
    ])
      expect(found).toContain(planted)
  }, 120_000)
})

const prompt = 'Do this:\n@call sallyport:signed__counter_read {}\n@call sallyport:held__hold {}'
/** How each is told, without a person, what to do. */
const wordsOf: Readonly<Record<AgentName, readonly string[]>> = {
  claude: ['-p', prompt, '--model', 'claude-opus-5'],
  codex: ['exec', '--skip-git-repo-check', '-m', 'fake-model', prompt],
  opencode: ['run', '-m', 'anthropic/claude-sonnet-4-5'],
  gemini: ['-p', prompt, '-m', 'gemini-2.5-pro'],
  pi: ['-p', prompt, '--model', 'anthropic/claude-sonnet-4-5', '--no-session'],
}

test('each secret that was planted in a process, a folder or a database is found', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-planted-'))
  const program = `const fs = require('node:fs'); const fd = fs.openSync(process.argv[1], 'w+')
    fs.writeSync(fd, process.env.PLANTED); fs.unlinkSync(process.argv[1]); console.log('ready'); setInterval(() => 0, 1000)`
  const words = ['-e', program, join(folder, 'gone'), secret]
  const child = spawn(process.execPath, words, { env: { PLANTED: secret }, stdio: 'pipe' })
  try {
    await once(child.stdout, 'data')
    const database = new DatabaseSync(join(folder, 'planted.db'))
    database.exec('CREATE TABLE t (a TEXT)')
    database.prepare('INSERT INTO t VALUES (?)').run(`x${Buffer.from(secret).toString('base64')}`)
    database.close()
    chmodSync(join(folder, 'planted.db'), 0o600)
    writeFileSync(join(folder, 'kept'), secret, { mode: 0o600 })
    writeFileSync(join(folder, 'open'), encodeURIComponent(secret), { mode: 0o644 })
    const planted = new LeakScan({ planted: secret })
    planted.lookAtProcess(child.pid as number, '')
    await planted.lookAtGuest(child.pid as number)
    planted.lookAtFolder('file', folder, true)
    planted.lookAtDatabase(join(folder, 'planted.db'))
    const found = new Set(planted.leaks().map(({ place }) => place))
    for (const place of ['argument', 'environment', 'descriptor', 'guest memory', 'database row'])
      expect(found).toContain(place)
    const modes = planted.leaks().filter(({ place }) => place === 'file mode')
    expect(modes.map(({ holder }) => holder)).toEqual([join(folder, 'open')])
    // The control: what was not planted is not found in the same places.
    const other = new LeakScan({ other: `absent-${'fedcba9876543210'.repeat(2)}` })
    other.lookAtProcess(child.pid as number, '')
    other.lookAtFolder('file', folder, true)
    expect(other.leaks()).toEqual([])
  } finally {
    child.kill('SIGKILL')
    await once(child, 'close')
    rmSync(folder, { recursive: true })
  }
})
