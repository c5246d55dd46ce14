import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RequestBody } from '@sallyport/protocol'
import { openSeal } from '@sallyport/protocol/node'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { runWords, type Setting } from '../testing/run-words.ts'
import { webhook } from '../testing/sample-approvals.ts'
import { at, ids } from '../testing/sample-ids.ts'
import { ScriptedApi } from '../testing/scripted-api.ts'

let api: ScriptedApi
let folder: string
beforeEach(async () => {
  api = await new ScriptedApi().listen()
})
afterEach(() => api.close())
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-webhook-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const run = (words: readonly string[], setting: Partial<Setting> = {}) =>
  runWords(['webhook', ...words], {
    env: { SALLYPORT_URL: api.url, SALLYPORT_TOKEN: 't' },
    ...setting,
  })

const url = 'https://hooks.example.com/sentinel-path'
const secret = Buffer.alloc(32, 7).toString('base64')

function secretFile(text: string): string {
  const path = join(folder, 'secret')
  writeFileSync(path, text)
  return path
}

function sealed() {
  const body = api.only('webhook.create').body as RequestBody<'webhook.create'>
  const { id = '', seal = '' } = body
  const place = { kind: 'webhook', id, scope: 'org', version: 1 } as const
  return { body, opened: openSeal(seal, place, [api.vault]) }
}

test('add makes a secret, prints it once, and sends both sealed to a row of their own', async () => {
  const { code, stdout } = await run(['add', 'pager', url])
  expect(code).toBe(0)
  const [, made = ''] = /^secret +whsec_(\S+) \(shown once\)$/m.exec(stdout) ?? []
  expect(Buffer.from(made, 'base64')).toHaveLength(32)
  const { body, opened } = sealed()
  expect(body).toEqual({
    name: 'pager',
    id: expect.stringMatching(/^whk_/),
    seal: expect.any(String),
    clear: { scheme: 'https', host: 'hooks.example.com', port: 443 },
  })
  expect(opened).toEqual({ url, secret: made })
  expect(api.received).not.toContain('sentinel')
  expect(api.received).not.toContain(made)
})

test('in JSON the secret that was made stands beside the answer; one that was given does not', async () => {
  const made = JSON.parse((await run(['add', 'pager', url, '--json'])).stdout)
  const answer = { ...webhook, plaintext: false }
  expect(made).toEqual({ ...answer, secret: expect.stringMatching(/^whsec_/) })
  const given = ['add', 'pager', url, '--secret-file', secretFile(secret), '--json']
  expect(JSON.parse((await run(given)).stdout)).toEqual(answer)
})

test.each([secret, `whsec_${secret}`])(
  'a given secret %s is sealed, and not printed',
  async (text) => {
    const path = secretFile(`${text}\n`)
    const { stdout, stderr } = await run(['add', 'pager', url, '--secret-file', path])
    expect(sealed().opened).toEqual({ url, secret })
    expect(stdout + stderr).not.toContain(secret)
  },
)

test('the URL comes from stdin for -, and events may be chosen', async () => {
  const events = ['--event', 'approval.requested', '--event', 'execution.unknown']
  await run(['add', 'pager', '-', ...events], { stdin: `${url}\n` })
  const { body, opened } = sealed()
  expect(opened).toMatchObject({ url })
  expect(body.events).toEqual(['approval.requested', 'execution.unknown'])
})

test.each([
  [['add', 'pager', 'http://hooks.example.com/'], 'bad_url', 1],
  [['add', 'pager', url, '--event', 'odd'], 'usage', 2],
  [['add', 'pager'], 'usage', 2],
] as const)('%j is refused before anything is sent', async (words, refusal, exit) => {
  const { code, stderr } = await run(words)
  expect(code).toBe(exit)
  expect(stderr).toMatch(new RegExp(`^${refusal}: [^\\n]*\\n$`))
  expect(api.requests.filter(({ route }) => route === 'webhook.create')).toEqual([])
})

test('a secret that cannot sign is refused with what it must be, and not repeated', async () => {
  const path = secretFile('c2VudGluZWw=')
  const { code, stderr } = await run(['add', 'pager', url, '--secret-file', path])
  expect(code).toBe(1)
  expect(stderr).toMatch(/^bad_secret: .*\(field --secret-file\).* 24 to 64 bytes in base64/)
  expect(stderr).not.toContain('c2Vud')
})

test.each([
  ['enable', 'webhook.enable'],
  ['remove', 'webhook.remove'],
  ['test', 'webhook.test'],
] as const)('%s finds the webhook by its name', async (word, route) => {
  expect(await run([word, 'pager'])).toMatchObject({ code: 0, stderr: '' })
  expect(api.only(route).params).toEqual({ id: ids.webhook })
  const { code, stderr } = await run([word, 'nobody'])
  expect(code).toBe(5)
  expect(stderr).toMatch(/^not_found: .* See "sallyport webhook list"\.\n$/)
})

test('a test that does not arrive is a failure with its answer', async () => {
  const failing = { ...webhook, state: 'failing', lastFailure: { code: 'webhook_refused', at } }
  api.answer('webhook.test', failing)
  const { code, stdout, stderr } = await run(['test', 'pager', '--json'])
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toEqual(failing)
  expect(stderr).toMatch(/^webhook_refused: /)
})

test('a list tells where, of what, and what came of it', async () => {
  const failing = { ...webhook, state: 'failing', lastFailure: { code: 'upstream_dns', at } }
  api.answer('webhook.list', { items: [{ ...failing, waiting: 3 }] })
  const { stdout } = await run(['list'])
  expect(stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
    ['NAME', 'STATE', 'HOST', 'EVENTS', 'DELIVERED', 'FAILED', 'WAITING'],
    [
      ...['pager', 'failing', 'https://hooks.example.com:443'],
      ...['approval.requested, execution.unknown', '-', 'upstream_dns', '3'],
    ],
    ['1 webhook'],
    [''],
  ])
})

test('a list and a test tell of one that is off why it is, and how it is switched on', async () => {
  const lastFailure = { code: 'webhook_refused', at }
  const off = { ...webhook, state: 'off' as const, lastFailure, goneAt: at }
  api.answer('webhook.list', { items: [off] })
  api.answer('webhook.test', off)
  const why =
    /^pager is off: its receiver answered that it is gone \(410\) at .*\. When it is back: sallyport webhook enable pager$/m
  const { stdout } = await run(['list'])
  expect(stdout).toMatch(/^pager +off +/m)
  expect(stdout).toMatch(why)
  expect((await run(['test', 'pager'])).stdout).toMatch(why)
  expect((await run(['enable', 'pager'])).stdout).not.toContain('is off')
})
