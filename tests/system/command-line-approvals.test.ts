/** The command line of whoever decides, against a whole Sallyport. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectAndGrant, type OpenSession } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { WebhookReceiver } from '../upstreams/webhook-receiver.ts'
import { type CommandOptions, runCommand } from './commands.ts'
import { type CountedUpstream, startCountedUpstream } from './counted-upstream.ts'
import { eventually } from './eventually.ts'
import { RawGuest } from './raw-guest.ts'

const launcher = join(import.meta.dirname, '..', '..', 'apps', 'cli', 'bin', 'sallyport.js')

let home: string
let sallyport: Sallyport
let upstream: CountedUpstream
let session: OpenSession
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'sallyport-deciding-'))
  upstream = await startCountedUpstream()
  sallyport = await startSallyport()
  session = await connectAndGrant(sallyport, {
    ...{ name: 'notes', url: upstream.url, read: ['look'], write: ['store'] },
    ...{ profile: 'asking', settings: { holdSeconds: 20 } },
  })
})
afterAll(async () => {
  await sallyport?.remove()
  await upstream?.close()
  rmSync(home, { recursive: true })
})

const run = (words: readonly string[], more: Partial<CommandOptions> = {}) =>
  runCommand(words, { dataDir: sallyport.dataDir, home, ...more })

const call = (id: string) => {
  const endpoint = `${sallyport.guestUrl}/mcp/notes`
  return new RawGuest({ endpoint, token: session.token, era: 'modern' }).call(
    'store',
    JSON.stringify({ id }),
  )
}

/** Looks until there is one to decide about. */
async function pending(): Promise<string> {
  const { stdout } = await eventually(
    () => run(['approvals', 'list', '--json']),
    (ran) => ran.stdout.includes('apr_'),
  )
  return JSON.parse(stdout).items[0].id
}

const hostile = '\x1b[2Jx\nstate       approved\u202e'

test('what a guest asks for is shown, approved once, and a second decision is a conflict', async () => {
  const answer = call(hostile)
  const id = await pending()
  const list = await run(['approvals', 'list'])
  expect(list.stdout).toMatch(
    new RegExp(`^${id} +pending +\\d+:\\d\\d +admin +notes +store +waits`, 'm'),
  )
  const shown = (await run(['approvals', 'show', id])).stdout.split('\n')
  expect(shown.filter((line) => line.startsWith('state'))).toEqual(['state       pending'])
  expect(shown).toContain('    "id": "\\u001b[2Jx\\n')
  expect(shown).toContain('      | state       approved\\u{202e}"')
  const raw = (await run(['approvals', 'show', id, '--raw'])).stdout
  expect(raw).toContain('| {"id":"\\u001b[2Jx\\nstate       approved\\u202e"}\n')
  expect(await run(['approvals', 'approve', id, '--note', 'as agreed'])).toMatchObject({ code: 0 })
  expect(await answer).toMatchObject({ isError: false })
  expect(upstream.effects(hostile)).toBe(1)
  for (const again of ['approve', 'deny'])
    expect(await run(['approvals', again, id])).toMatchObject({
      code: 6,
      stdout: '',
      stderr: expect.stringMatching(/^approval_settled: [^\n]*\n$/),
    })
  const after = await run(['approvals', 'show', id])
  expect(after.stdout).toMatch(/^state +consumed$/m)
  expect(after.stdout).toMatch(/^decisions +approved by admin at .*: as agreed$/m)
  const execution = JSON.parse((await run(['approvals', 'show', id, '--json'])).stdout).executionId
  expect((await run(['executions', 'show', execution])).stdout).toMatch(/^result\n {2}\{\n/m)
})

test('the call of another is not found, and the owner decides about it', async () => {
  await run(['user', 'add', 'mo', '--role', 'member'])
  await run(['token', 'create', '--user', 'mo', '--file', 'mo.token'])
  const answer = call('of another')
  const id = await pending()
  const env = { SALLYPORT_TOKEN_FILE: 'mo.token' }
  for (const words of [['show'], ['approve'], ['deny']])
    expect(await run(['approvals', ...words, id], { env })).toMatchObject({ code: 5, stdout: '' })
  expect(await run(['approvals', 'deny', id])).toMatchObject({ code: 0 })
  expect(await answer).toMatchObject({ isError: true })
  expect(upstream.effects('of another')).toBe(0)
})

test('watch --json tells of what comes and of what becomes of it, and ends by a signal', async () => {
  const child = spawn(process.execPath, [launcher, 'approvals', 'watch', '--json'], {
    env: { HOME: home, SALLYPORT_DATA: sallyport.dataDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let written = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written += text
  })
  const tells = (text: string) =>
    eventually(
      () => written,
      (all) => all.includes(text),
    )
  const answer = call('watched')
  const id = await pending()
  await tells(`{"event":"approval","approval":{"id":"${id}","state":"pending"`)
  await run(['approvals', 'deny', id, '--note', 'no'])
  await answer
  await tells(`{"event":"approval","approval":{"id":"${id}","state":"denied"`)
  child.kill('SIGTERM')
  expect(await once(child, 'close')).toEqual([null, 'SIGTERM'])
})

test('an unknown outcome stands first, and is resolved once', async () => {
  upstream.upstream.misbehave({ kind: 'cut' }, { method: 'tools/call', times: 1 })
  const answer = call('cut')
  await run(['approvals', 'approve', await pending()])
  expect(await answer).toMatchObject({ failure: { code: 'outcome_unknown' } })
  const { stdout } = await run(['executions', 'list'])
  const [, first = ''] = stdout.split('\n')
  expect(first).toMatch(/^exe_\w+ +unknown +notes +store/)
  expect(stdout).toContain('sallyport executions resolve ID')
  const id = first.split(' ')[0] ?? ''
  const resolve = [
    'executions',
    'resolve',
    id,
    '--not-applied',
    '--note',
    'looked',
    '--allow-retry',
  ]
  expect(await run(resolve)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^resolved +not applied, by admin at /m),
  })
  expect(await run(resolve)).toMatchObject({
    code: 6,
    stderr: expect.stringMatching(/^not_unknown: /),
  })
  expect((await run(['status'])).stdout).toMatch(/^unknown outcomes +0$/m)
})

test('a session continues one that ended', async () => {
  const create = ['session', 'create', '--profile', 'asking', '--json']
  const { id } = JSON.parse((await run(create)).stdout)
  await run(['session', 'end', id])
  const next = JSON.parse((await run([...create, '--continue', id])).stdout)
  expect((await run(['session', 'show', next.id])).stdout).toMatch(
    new RegExp(`^continues +${id}$`, 'm'),
  )
})

test('a webhook is added, tried and removed', async () => {
  const secret = Buffer.alloc(32, 3).toString('base64')
  writeFileSync(join(home, 'secret'), `whsec_${secret}\n`)
  const receiver = await WebhookReceiver.start({ secret })
  const add = ['webhook', 'add', 'pager', '-', '--secret-file', 'secret']
  expect(await run(add, { stdin: receiver.url })).toMatchObject({ code: 0, stderr: '' })
  expect(await run(['webhook', 'test', 'pager'])).toMatchObject({ code: 0 })
  expect(receiver.received).toMatchObject([{ problem: undefined }])
  expect(JSON.parse(receiver.received[0]?.body ?? '').type).toBe('test')
  receiver.answer = (response) => response.writeHead(403).end()
  expect(await run(['webhook', 'test', 'pager'])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^webhook_refused: [^\n]*\n$/),
  })
  expect(await run(['webhook', 'remove', 'pager'])).toMatchObject({ code: 0 })
  expect(await run(['webhook', 'test', 'pager'])).toMatchObject({ code: 5 })
  await receiver.close()
})
