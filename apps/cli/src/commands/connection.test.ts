import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSeal } from '@sallyport/protocol/node'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { runWords } from '../testing/run-words.ts'
import { connection } from '../testing/sample-answers.ts'
import { ids } from '../testing/sample-ids.ts'
import { ScriptedApi } from '../testing/scripted-api.ts'

let api: ScriptedApi
let folder: string
beforeEach(async () => {
  api = await new ScriptedApi().listen()
})
afterEach(() => api.close())
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-cli-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const run = (words: readonly string[], stdin = '') =>
  runWords(words, { env: { SALLYPORT_URL: api.url, SALLYPORT_TOKEN: 't' }, stdin })

function file(name: string, text: string | Uint8Array): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const url = 'https://mcp.example.com/mcp?key=sentinel-in-url'

interface SentConnection {
  readonly id: string
  readonly endpoint?: { readonly seal: string; readonly clear: unknown }
  readonly credential?: {
    readonly id: string
    readonly seal: string
    readonly clear: unknown
  } | null
}

test('add seals the URL, the bearer and the headers to rows of its own', async () => {
  const bearer = file('bearer', 'sentinel-bearer\n')
  const header = file('header', 'sentinel-header\r\n')
  const words = ['connection', 'add', 'docs', url, '--bearer-file', bearer]
  const { code, stdout, stderr } = await run([...words, '--header-file', `X-Team=${header}`])
  expect(code).toBe(0)
  const sent = api.only('connection.create').body as SentConnection
  expect(sent).toMatchObject({
    id: expect.stringMatching(/^con_/),
    name: 'docs',
    scope: 'org',
    endpoint: { clear: { scheme: 'https', host: 'mcp.example.com', port: 443 } },
    credential: {
      id: expect.stringMatching(/^crd_/),
      clear: { bearer: true, headerNames: ['X-Team'] },
    },
  })
  const { endpoint, credential } = sent
  const endpointPlace = { kind: 'endpoint', id: sent.id, scope: 'org', version: 1 } as const
  expect(openSeal(endpoint?.seal ?? '', endpointPlace, [api.vault])).toEqual({ url })
  const place = { kind: 'credential', id: credential?.id ?? '', scope: 'org', version: 1 } as const
  expect(openSeal(credential?.seal ?? '', place, [api.vault])).toEqual({
    token: 'sentinel-bearer',
    headers: [{ name: 'X-Team', value: 'sentinel-header' }],
    destinations: ['https://mcp.example.com/mcp'],
  })
  expect(api.received + stdout + stderr).not.toContain('sentinel')
})

test('add without a secret sends no credential', async () => {
  await run(['connection', 'add', 'docs', 'https://mcp.example.com/'])
  expect(api.only('connection.create').body).not.toHaveProperty('credential')
})

test.each([
  ['project:web', 'project:web'],
  ['personal', `personal:${ids.user}`],
])('add in scope %s seals for %s', async (scope, sealed) => {
  await run(['connection', 'add', 'docs', 'https://mcp.example.com/', '--scope', scope])
  const sent = api.only('connection.create').body as SentConnection & { scope: string }
  expect(sent.scope).toBe(scope)
  const place = { kind: 'endpoint', id: sent.id, scope: sealed, version: 1 } as const
  expect(openSeal(sent.endpoint?.seal ?? '', place, [api.vault])).toBeDefined()
})

test('a URL or a secret can come from stdin, once', async () => {
  await run(['connection', 'add', 'docs', '-'], `${url}\n`)
  const sent = api.only('connection.create').body as SentConnection
  const place = { kind: 'endpoint', id: sent.id, scope: 'org', version: 1 } as const
  expect(openSeal(sent.endpoint?.seal ?? '', place, [api.vault])).toEqual({ url })
  const twice = await run(['connection', 'add', 'docs', '-', '--bearer-file', '-'], url)
  expect(twice).toMatchObject({ code: 2, stderr: expect.stringContaining('once') })
})

test.each([
  ['bad_url', 'http://mcp.example.com/', 'fine'],
  ['bad_url', 'http://127.0.0.1:9/mcp', 'fine'],
  ['bad_url', 'https://user:sentinel@mcp.example.com/', 'fine'],
  ['bad_secret', 'https://mcp.example.com/', ''],
  ['bad_secret', 'https://mcp.example.com/', 'sentinel\rmore'],
  ['bad_secret', 'https://mcp.example.com/', 'sentinel'.repeat(2000)],
  ['bad_secret', 'https://mcp.example.com/', new Uint8Array([0xff, 0xfe])],
])('refuses with %s before anything is sent: %s', async (code, to, secret) => {
  const words = ['connection', 'add', 'docs', to, '--bearer-file', file('odd', secret)]
  const { code: exit, stdout, stderr } = await run(words)
  expect(exit).toBe(1)
  expect(stderr).toMatch(new RegExp(`^${code}: [^\\n]*\\n$`))
  expect(stdout + stderr + api.received).not.toContain('sentinel')
  expect(api.requests.map(({ route }) => route)).not.toContain('connection.create')
})

test('a local server passes where the operator allowed it', async () => {
  api.localUpstreams = true
  expect(await run(['connection', 'add', 'x', 'http://127.0.0.1:9/mcp'])).toMatchObject({ code: 0 })
})

test('a secret file that cannot be read is said without its content', async () => {
  const words = ['connection', 'add', 'docs', url, '--bearer-file', join(folder, 'absent')]
  const { code, stderr } = await run(words)
  expect(code).toBe(1)
  expect(stderr).toMatch(/^file_unreadable: .* \(field --bearer-file\) — who can act: you\./)
})

test('the forms of a program and of a person are sent as what they are, without secrets', async () => {
  api.refuse('connection.create', 'transport_not_available')
  const env = file('env', 'sentinel')
  const stdio = [
    '--env-file',
    `KEY=${env}`,
    '--cwd',
    '/srv',
    '--share',
    'never',
    '--',
    'npx',
    '--yes',
  ]
  expect(await run(['connection', 'add', 'files', ...stdio])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^transport_not_available: /),
  })
  expect(api.only('connection.create').body).toEqual({ name: 'files', transport: 'stdio' })
  api.refuse('connection.create', 'not_allowed')
  const person = ['connection', 'add', 'ask', '--person', '--tools', 'tools.json']
  expect(await run(person)).toMatchObject({ code: 4 })
  expect(api.requests.at(-1)?.body).toEqual({ name: 'ask', transport: 'person' })
  expect(api.received).not.toContain('sentinel')
})

test.each([
  [['docs']],
  [['docs', 'npx', 'server']],
  [['docs', '--']],
  [['docs', 'https://a.example/', '--', 'npx']],
  [['docs', '--bearer-file', 'f', '--', 'npx']],
  [['docs', 'https://a.example/', '--cwd', '/srv']],
  [['docs', '--person']],
  [['docs', '--tools', 'f']],
  [['docs', 'https://a.example/', '--person', '--tools', 'f']],
  [['docs', 'https://a.example/', '--scope', 'team']],
  [['docs', 'https://a.example/', '--header-file', 'X-Team']],
  [['docs', '--share', 'always', '--', 'npx']],
])('a mixture of forms is a usage error: %j', async (words) => {
  const { code, stderr } = await run(['connection', 'add', ...words])
  expect(code).toBe(2)
  expect(stderr).toMatch(/^usage: [^\n]*\n$/)
  expect(api.requests).toEqual([])
})

const edit = (...words: string[]) => run(['connection', 'edit', 'docs', ...words])

test('edit renames by compare-and-swap and touches nothing else', async () => {
  expect(await edit('--rename', 'papers')).toMatchObject({ code: 0 })
  const { params, body } = api.only('connection.edit')
  expect(params).toEqual({ name: ids.connection })
  expect(body).toEqual({ version: 9, name: 'papers' })
})

test('edit seals a new secret as the next version of the credential, for the URL that stays', async () => {
  const bearer = file('bearer', 'new')
  const header = file('header', 'blue')
  await edit('--same-url', url, '--bearer-file', bearer, '--header-file', `x-team=${header}`)
  const body = api.only('connection.edit').body as SentConnection
  expect(body).not.toHaveProperty('endpoint')
  const place = { kind: 'credential', id: ids.credential, scope: 'org', version: 5 } as const
  expect(openSeal(body.credential?.seal ?? '', place, [api.vault])).toMatchObject({
    token: 'new',
    destinations: ['https://mcp.example.com/mcp'],
  })
})

test('edit seals another URL for the next revision', async () => {
  api.answer('connection.show', {
    ...connection,
    scope: 'personal',
    ownerId: ids.user,
    auth: 'none',
    headerNames: [],
    credential: null,
  })
  const { stdout } = await edit('--url', 'https://other.example/mcp')
  const body = api.only('connection.edit').body as SentConnection
  const scope = `personal:${ids.user}`
  const place = { kind: 'endpoint', id: ids.connection, scope, version: 3 } as const
  expect(openSeal(body.endpoint?.seal ?? '', place, [api.vault])).toEqual({
    url: 'https://other.example/mcp',
  })
  expect(stdout).toContain('catalog discover')
})

test('edit drops a credential only when told to', async () => {
  await edit('--no-credential')
  expect(api.only('connection.edit').body).toEqual({ version: 9, credential: null })
})

test.each([
  [[], 'nothing to edit'],
  [['--bearer-file', 'f'], 'give --same-url'],
  [['--same-url', 'https://a.example/'], '--same-url goes with'],
  [['--url', 'https://a.example/'], 'give --bearer-file F --header-file X-Team=F again'],
  [['--same-url', 'https://a.example/', '--bearer-file', 'f'], 'give --header-file X-Team=F again'],
  [['--same-url', 'https://a.example/', '--url', 'https://b.example/'], 'cannot be used with'],
])('edit says what is missing: %j', async (words, said) => {
  const { code, stderr } = await edit(...words)
  expect(code).toBe(2)
  expect(stderr).toContain(said)
  expect(stderr).toMatch(/^usage: [^\n]*\n$/)
  expect(api.requests.map(({ route }) => route)).not.toContain('connection.edit')
})
