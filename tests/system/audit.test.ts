/** `sallyport audit` as a person runs it, on whole Sallyports whose gateways are killed and whose databases are changed. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeAll, expect, type TestContext, test } from 'vitest'
import { killAndProveGone } from '../harness/processes.ts'
import { connectAndGrant, type OpenSession } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { startPostgres } from '../postgres/start-postgres.ts'
import { runCommand } from './commands.ts'
import { type CountedUpstream, startCountedUpstream } from './counted-upstream.ts'
import { untilSettled } from './journal.ts'
import { RawGuest } from './raw-guest.ts'

let home: string
let upstream: CountedUpstream
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'sallyport-audit-'))
  upstream = await startCountedUpstream()
})
afterAll(async () => {
  await upstream?.close()
  rmSync(home, { recursive: true, force: true })
})
const ended: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end()
})

async function start(...args: string[]): Promise<Sallyport> {
  const sallyport = await startSallyport({
    args,
    env: { SALLYPORT_VAULT_KEY_FILE: join(home, 'vault.key') },
  })
  ended.push(() => sallyport.remove())
  return sallyport
}

const connect = (sallyport: Sallyport): Promise<OpenSession> =>
  connectAndGrant(sallyport, {
    name: 'counted',
    url: upstream.url,
    profile: 'unattended',
    read: ['look'],
    write: ['store'],
    unattended: true,
  })

/** Reads and writes, each with arguments of its own, at the same time. */
async function callAll({ guestUrl }: Sallyport, { token }: OpenSession, name: string) {
  const guest = new RawGuest({ endpoint: `${guestUrl}/mcp/counted`, token, era: 'modern' })
  const calls = Array.from({ length: 12 }, (_, at) =>
    guest.call(at % 3 ? 'look' : 'store', JSON.stringify({ id: `${name}-${at}` })),
  )
  return Promise.all(calls)
}

const audit = ({ dataDir }: Sallyport, ...words: string[]) =>
  runCommand(['audit', ...words], { dataDir, home })

async function verify(sallyport: Sallyport, ...words: string[]) {
  const { code, stdout, stderr } = await audit(sallyport, 'verify', '--json', ...words)
  return { code, stderr, ...JSON.parse(stdout) }
}

test('verify, export, verify the export elsewhere; a change of the database is found and named', async () => {
  const sallyport = await start()
  const session = await connect(sallyport)
  await callAll(sallyport, session, 'a')
  const whole = await verify(sallyport)
  expect(whole).toMatchObject({ code: 0, stderr: '', state: 'whole', findings: [], more: 0 })
  expect(whole).toMatchObject({ from: null, notYetCovered: 0, newestCheckpoint: {} })
  expect(whole.checked).toMatchObject({ executions: 12, rows: 12, events: 32 })
  const people = await audit(sallyport, 'verify')
  expect(people).toMatchObject({ code: 0, stderr: '' })
  expect(people.stdout).toMatch(/^from +the beginning\n[\s\S]*12, 12 rows compared\n/)

  const { code, stdout, stderr } = await audit(sallyport, 'export')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  for (const line of stdout.trimEnd().split('\n')) expect(JSON.parse(line)).toBeTypeOf('object')
  expect(stdout).toMatch(/^[\x20-\x7e\n]*$/)
  const changes = [...stdout.matchAll(/"what\\?":\\?"([\w.]+)/g)].map(([, what]) => what)
  expect(changes).toEqual([
    'connection.create',
    ...['catalog.review', 'catalog.publish', 'connection.enable'],
    ...['profile.create', 'profile.grant', 'profile.grant', 'session.create'],
  ])
  const file = join(home, 'journal.ndjson')
  writeFileSync(file, stdout)
  await sallyport.stop()
  expect(await verify(sallyport, '--file', file)).toMatchObject({ code: 0, findings: [] })
  writeFileSync(file, stdout.replace('"tool":"store"', '"tool":"stare"'))
  expect(await verify(sallyport, '--file', file)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^journal_damaged: The journal is not what was recorded\. .*\n$/),
    state: 'damaged',
    findings: [{ kind: 'page_changed', stream: expect.stringMatching(/^str_/) }],
  })

  const database = new DatabaseSync(join(sallyport.dataDir, 'sallyport.db'))
  database.exec(
    "UPDATE executions SET state = 'tool_error' WHERE id = (SELECT max(id) FROM executions)",
  )
  database.exec(
    'DELETE FROM journal_pages WHERE position = (SELECT min(position) FROM journal_pages)',
  )
  database.close()
  await sallyport.restart()
  const found = await audit(sallyport, 'verify')
  expect(found.code).toBe(1)
  // A stream may have had no other page: then it is the stream that is missing.
  expect(found.stdout).toMatch(/^(?:page|stream)_missing: stream str_\w+, sequence 1[:,]/m)
  expect(found.stdout).toMatch(/^row_differs: execution exe_\w+, .*field state: /m)
  await callAll(sallyport, session, 'b')
})

test('what --since gives verifies by itself; a wrong time or file is told', async () => {
  const sallyport = await start()
  await callAll(sallyport, await connect(sallyport), 'c')
  const { stdout } = await audit(sallyport, 'export', '--since', '2100-01-01')
  const file = join(home, 'part.ndjson')
  writeFileSync(file, stdout)
  expect(await verify(sallyport, '--file', file)).toMatchObject({ code: 0, findings: [] })
  expect(await audit(sallyport, 'export', '--since', 'yesterday')).toMatchObject({ code: 2 })
  expect(await audit(sallyport, 'verify', '--file', join(home, 'none'))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('file_unreadable'),
  })
})

test('a gateway that is killed leaves a journal that is whole, and the next one signs what it left', async () => {
  const sallyport = await start()
  const session = await connect(sallyport)
  for (let round = 0; round < 4; round++) {
    const calls = callAll(sallyport, session, `killed-${round}`).catch(() => {})
    await upstream.began(`killed-${round}-0`)
    await sallyport.kill()
    await calls
    await sallyport.restart()
    const report = await verify(sallyport)
    expect(report).toMatchObject({ code: 0, findings: [], notYetCovered: 0 })
  }
  await untilSettled(sallyport, session.id, 20_000)
  expect(await verify(sallyport)).toMatchObject({ code: 0, findings: [] })
})

test('a restored database says so in its journal', async () => {
  const sallyport = await start()
  await callAll(sallyport, await connect(sallyport), 'restored')
  await sallyport.restart({ args: ['--restored'] })
  expect(await verify(sallyport)).toMatchObject({ code: 0, findings: [] })
  expect((await audit(sallyport, 'export')).stdout).toContain('"kind":"restored"')
})

test('two gateways on one Postgres keep one journal, also when one is killed', async ({
  onTestFinished,
}: TestContext) => {
  const postgres = await startPostgres()
  onTestFinished(() => postgres.stop())
  const shared = ['--database', postgres.url, '--data-key-file', join(home, 'data.key')]
  const [first, second] = await Promise.all([start(...shared), start(...shared)])
  const session = await connect(first)
  await Promise.all([callAll(first, session, 'first'), callAll(second, session, 'second')])
  for (const gateway of [first, second])
    expect(await verify(gateway)).toMatchObject({ code: 0, findings: [] })

  const held = new RawGuest({
    endpoint: `${second.guestUrl}/mcp/counted`,
    token: session.token,
    era: 'modern',
  })
  const cut = held.call('store', '{"hold":true,"id":"held"}').catch(() => 'cut off')
  await upstream.began('held')
  await killAndProveGone(second.pid)
  await killAndProveGone(second.workerPid() as number)
  await cut
  upstream.release('held')
  await callAll(first, session, 'alone')
  const report = await verify(first)
  expect(report).toMatchObject({ code: 0, findings: [] })
  expect(report.checked.executions).toBe(37)
  expect(report.keys).toHaveLength(2)
})

test('only an administrator reads the journal', async () => {
  const sallyport = await start()
  await sallyport.api('user.create', {}, { name: 'bob', role: 'member' })
  const { secret } = await sallyport.api('token.create', {}, { user: 'bob' })
  const { code, stderr } = await runCommand(['audit', 'export'], {
    dataDir: sallyport.dataDir,
    home,
    env: { SALLYPORT_URL: sallyport.url, SALLYPORT_TOKEN: secret },
  })
  expect([code, stderr.split(':')[0]]).toEqual([4, 'not_allowed'])
  expect(readFileSync(join(sallyport.dataDir, 'gateway', 'journal.key'), 'utf8')).toMatch(
    /^-----BEGIN PRIVATE KEY-----/,
  )
})
