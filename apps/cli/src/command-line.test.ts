import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ErrorCode } from '@sallyport/protocol'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { runWords } from './testing/run-words.ts'
import { secretToken, sessionToken, status } from './testing/sample-answers.ts'
import { ids } from './testing/sample-ids.ts'
import { ScriptedApi } from './testing/scripted-api.ts'

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

const env = () => ({ SALLYPORT_URL: api.url, SALLYPORT_TOKEN: 'the-token' })
const run = (...words: string[]) => runWords(words, { env: env() })

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

test.each([
  [['user', 'list'], 'user.list', {}],
  [['token', 'list'], 'token.list', {}],
  [['connection', 'list'], 'connection.list', {}],
  [['connection', 'show', 'docs'], 'connection.show', { name: 'docs' }],
  [['connection', 'status', 'docs'], 'connection.show', { name: 'docs' }],
  [['connection', 'test', 'docs'], 'connection.test', { name: 'docs' }],
  [['connection', 'refresh', 'docs'], 'connection.refresh', { name: 'docs' }],
  [['connection', 'enable', 'docs'], 'connection.enable', { name: 'docs' }],
  [['connection', 'disable', 'docs'], 'connection.disable', { name: 'docs' }],
  [['connection', 'remove', 'docs'], 'connection.remove', { name: 'docs' }],
  [['catalog', 'discover', 'docs'], 'catalog.discover', { name: 'docs' }],
  [['catalog', 'show', 'docs'], 'catalog.show', { name: 'docs' }],
  [['catalog', 'diff', 'docs'], 'catalog.diff', { name: 'docs' }],
  [['catalog', 'review', 'docs'], 'catalog.show', { name: 'docs' }],
  [['profile', 'list'], 'profile.list', {}],
  [['profile', 'show', 'dev'], 'profile.show', { name: 'dev' }],
  [['session', 'list'], 'session.list', {}],
  [['session', 'show', ids.session], 'session.show', { id: ids.session }],
  [['session', 'end', ids.session], 'session.end', { id: ids.session }],
  [['approvals', 'list'], 'approval.list', {}],
  [['approvals', 'show', ids.approval], 'approval.show', { id: ids.approval }],
  [['approvals', 'approve', ids.approval], 'approval.approve', { id: ids.approval }],
  [['approvals', 'deny', ids.approval], 'approval.deny', { id: ids.approval }],
  [['executions', 'list'], 'execution.list', {}],
  [['executions', 'show', ids.execution], 'execution.show', { id: ids.execution }],
  [['webhook', 'list'], 'webhook.list', {}],
  [['webhook', 'enable', 'pager'], 'webhook.enable', { id: ids.webhook }],
  [['webhook', 'remove', 'pager'], 'webhook.remove', { id: ids.webhook }],
  [['webhook', 'test', 'pager'], 'webhook.test', { id: ids.webhook }],
  [['user', 'disable', 'ada'], 'user.disable', { name: 'ada' }],
  [['token', 'revoke', ids.token], 'token.revoke', { id: ids.token }],
  [['resume'], 'pause.clear', {}],
  [['settings', 'list'], 'setting.list', {}],
  [['settings', 'unset', 'durableReads'], 'setting.unset', { name: 'durableReads' }],
  [['keys', 'show'], 'keys.show', {}],
  [['keys', 'rotate'], 'keys.rotate', {}],
] as const)('%j asks %s and prints its answer', async (words, route, params) => {
  const json = await run(...words, '--json')
  const { params: sent, authorization } = api.only(route)
  expect(sent).toEqual(params)
  expect(authorization).toBe('Bearer the-token')
  expect(json).toMatchObject({ code: 0, stderr: '' })
  expect(json.stdout.split('\n')).toHaveLength(2)
  const people = await run(...words)
  expect(people).toMatchObject({ code: 0, stderr: '' })
  expect(people.stdout).not.toMatch(/undefined|\[object|NaN/)
})

test.each([
  [['user', 'add', 'bob', '--role', 'member'], 'user.create', { name: 'bob', role: 'member' }],
  [
    [
      'catalog',
      'review',
      'docs',
      '--include',
      'a*',
      '--include',
      'b',
      '--read',
      'a*',
      '--exclude',
      'c',
    ],
    'catalog.review',
    { include: ['a*', 'b'], exclude: ['c'], read: ['a*'] },
  ],
  [['catalog', 'publish', 'docs'], 'catalog.publish', {}],
  [['catalog', 'withdraw', 'docs', '--revision', '2'], 'catalog.withdraw', { revision: 2 }],
  [['profile', 'create', 'dev'], 'profile.create', { name: 'dev', settings: {} }],
  [
    [
      ...['profile', 'create', 'night', '--unattended', '--isolation', 'external'],
      ...['--isolation', 'none', '--approval-ttl', '60', '--hold', '0', '--retain', '7'],
      ...['--harness', 'codex', '--max-age', '1.5', '--idle', '2', '--verify-within', '0'],
      ...['--personal', 'write-with-approval', '--keep-reads'],
    ],
    'profile.create',
    {
      name: 'night',
      settings: {
        interactive: false,
        isolation: ['external', 'none'],
        approvalTtlSeconds: 60,
        holdSeconds: 0,
        retainDays: 7,
        keepReads: true,
        harnesses: ['codex'],
        maxAgeSeconds: 5400,
        idleSeconds: 7200,
        verifyWithinSeconds: 0,
        personal: 'write_with_approval',
      },
    },
  ],
  [
    [
      'profile',
      'grant',
      'dev',
      'docs',
      'search*',
      '--mode',
      'write-with-approval',
      '--rate',
      '3/60',
      '--approvers',
      'role:approver',
    ],
    'profile.grant',
    {
      connection: 'docs',
      tools: 'search*',
      mode: 'write_with_approval',
      limits: { rate: { count: 3, seconds: 60 }, approvers: 'role:approver' },
      confirmUnattended: false,
    },
  ],
  [
    [
      ...['profile', 'grant', 'dev', 'docs', '*', '--mode', 'write-with-approval'],
      ...['--exclude-requester', '--identical-only'],
    ],
    'profile.grant',
    {
      connection: 'docs',
      tools: '*',
      mode: 'write_with_approval',
      limits: { excludeRequester: true, identicalOnly: true },
      confirmUnattended: false,
    },
  ],
  [['profile', 'revoke', 'dev', 'docs', '*'], 'profile.revoke', { connection: 'docs', tools: '*' }],
  [
    [
      'session',
      'create',
      '--profile',
      'dev',
      '--isolation',
      'external',
      '--label',
      'a',
      '--owner',
      'bob',
    ],
    'session.create',
    { profile: 'dev', isolation: 'external', label: 'a', owner: 'bob' },
  ],
  [
    ['session', 'create', '--profile', 'dev', '--continue', ids.session],
    'session.create',
    { profile: 'dev', isolation: 'external', continues: ids.session },
  ],
  [['pause', '--writes', '--note', 'moving'], 'pause.set', { writes: true, note: 'moving' }],
  [['pause', '--note', 'all'], 'pause.set', { writes: false, note: 'all' }],
  [['settings', 'set', 'durableReads', 'true'], 'setting.set', { value: true }],
  [['settings', 'set', 'x', '12'], 'setting.set', { value: 12 }],
  [['settings', 'set', 'x', 'plain text'], 'setting.set', { value: 'plain text' }],
] as const)('%j sends what was typed', async (words, route, body) => {
  expect(await run(...words)).toMatchObject({ code: 0, stderr: '' })
  expect(api.only(route).body).toEqual(body)
})

test('a limit and fixed arguments come from files, exactly', async () => {
  const limit = file('limit.json', '{"properties":{"n":{"maximum":5}}}')
  const fixed = file('fixed.json', '{"team":"blue"}')
  const words = ['profile', 'grant', 'dev', 'docs', '*', '--mode', 'read']
  await run(...words, '--limit', limit, '--fixed', fixed)
  expect(api.only('profile.grant').body).toMatchObject({
    limits: { schema: { properties: { n: { maximum: 5 } } }, fixed: { team: 'blue' } },
  })
})

test.each([
  ['{"n":12345678901234567890}', 'arguments_not_exact', '(field --fixed /n)'],
  ['{"n":1,"n":2}', 'arguments_not_exact', '(field --fixed /n)'],
  ['{"n":', 'bad_file', '(field --fixed)'],
  ['[1]', 'bad_file', '(field --fixed)'],
])('refuses fixed arguments %s before it asks', async (text, code, field) => {
  const fixed = file('fixed.json', text)
  const words = ['profile', 'grant', 'dev', 'docs', '*', '--mode', 'read', '--fixed', fixed]
  const { code: exit, stderr } = await run(...words)
  expect(exit).toBe(1)
  expect(stderr).toContain(`${code}: `)
  expect(stderr).toContain(field)
  expect(api.requests).toEqual([])
})

const unattended = ['profile', 'grant', 'dev', 'docs', '*', '--mode', 'write-unattended']

test('write-unattended without a terminal needs --yes', async () => {
  const refused = await run(...unattended)
  expect(refused.code).toBe(1)
  expect(refused.stderr).toMatch(/^not_confirmed: .* Add --yes\.\n$/)
  expect(api.requests).toEqual([])
  expect(await run(...unattended, '--yes')).toMatchObject({ code: 0 })
  expect(api.only('profile.grant').body).toMatchObject({ mode: 'write_unattended' })
})

test('write-unattended at a terminal asks', async () => {
  const no = await runWords(unattended, { env: env(), stdin: 'n\n', terminal: true })
  expect(no.code).toBe(1)
  const gone = await runWords(unattended, { env: env(), stdin: '', terminal: true })
  expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining('not_confirmed: ')])
  expect(no.stderr).toContain('Let agents call these tools with nobody asked? dev: docs *')
  expect(api.requests).toEqual([])
  const yes = await runWords(unattended, { env: env(), stdin: 'y\n', terminal: true })
  expect(yes.code).toBe(0)
})

test('a grant prints what the glob was expanded to', async () => {
  const { stdout } = await run('profile', 'grant', 'dev', 'docs', 's*', '--mode', 'read')
  expect(stdout).toMatch(/^TOOL +STATE.*\nsearch +active +docs +read/)
  expect(stdout).toContain('1 tool granted to dev')
})

test('a review shows flags, reasons and what is not included', async () => {
  const { stdout } = await run('catalog', 'review', 'docs', '--include', 'search')
  expect(stdout).toContain('! bidirectional in description: Deletes\\u{202e}')
  expect(stdout).toContain('cannot be included: pattern uses a backreference')
  expect(stdout).toContain('takes query, limit?')
  expect(stdout).toContain('Included: 1 (1 read, 0 write).')
  expect(stdout).toContain('Not included: wipe.')
})

test('a difference reads like one', async () => {
  const { stdout } = await run('catalog', 'diff', 'docs')
  expect(stdout.split('\n')).toEqual([
    'Against revision 3:',
    '+ new_tool',
    '- old_tool',
    '> find is now search (same schema)',
    '~ wipe: description, inputSchema',
    '',
  ])
})

test('text of a server never reaches the terminal as control', async () => {
  const { stdout } = await runWords(['catalog', 'show', 'docs'], {
    env: { ...env(), NO_COLOR: '1' },
    terminal: true,
  })
  expect(stdout).toContain('Deletes\\u{202e} everything\\u{1b}[31m.')
  expect(stdout).not.toContain('\u202e')
  expect(stdout).not.toContain('\x1b')
  const json = await run('catalog', 'show', 'docs', '--json')
  expect(json.stdout).toMatch(/^[ -~]*\n$/)
  expect(JSON.parse(json.stdout).tools[1].description).toBe('Deletes\u202e everything\x1b[31m.')
})

test('colours only a terminal, and not with NO_COLOR', async () => {
  const words = ['connection', 'list']
  const colour = '\x1b[32menabled\x1b[39m'
  const terminal = await runWords(words, { env: env(), terminal: true })
  expect(terminal.stdout).toContain(colour)
  const asked = await runWords(words, { env: { ...env(), NO_COLOR: '1' }, terminal: true })
  expect(asked.stdout).not.toContain('\x1b')
  expect((await run(...words)).stdout).not.toContain('\x1b')
})

test.each([
  ['not_allowed', 4],
  ['not_authenticated', 4],
  ['not_found', 5],
  ['no_such_tool', 5],
  ['conflict', 6],
  ['name_taken', 6],
  ['approval_settled', 6],
  ['not_unknown', 6],
  ['session_not_ended', 6],
  ['not_published', 1],
  ['worker_down', 1],
  ['internal', 1],
] satisfies [ErrorCode, number][])('%s ends with one line and exit code %i', async (code, exit) => {
  api.refuse('connection.enable', code, 'name')
  const { code: got, stdout, stderr } = await run('connection', 'enable', 'docs')
  expect(got).toBe(exit)
  expect(stdout).toBe('')
  expect(stderr).toMatch(
    new RegExp(`^${code}: .* \\(field name\\) — who can act: \\w+\\.[^\\n]*\\n$`),
  )
})

test('says who can act and what comes next', async () => {
  api.refuse('connection.enable', 'not_published')
  const { stderr } = await run('connection', 'enable', 'docs')
  expect(stderr).toBe(
    'not_published: The connection has no published catalog. Discover, review and publish it first. — who can act: administrator. Begin with "sallyport catalog discover NAME".\n',
  )
})

test.each([
  ['not_found', 'profile', 'See "sallyport profile list".'],
  ['not_found', 'continues', 'See "sallyport session list".'],
  ['bad_request', 'continues', 'That is no id of a session.'],
  ['session_not_ended', 'continues', 'See its state with "sallyport session list"'],
] satisfies [ErrorCode, string, string][])(
  'a session that cannot begin, %s of %s, leads on',
  async (code, field, next) => {
    api.refuse('session.create', code, field)
    const { stderr } = await run('session', 'create', '--profile', 'p')
    expect(stderr).toContain(`(field ${field}) — who can act:`)
    expect(stderr).toContain(next)
  },
)

test('shows an error of a later release as it came, escaped and in one line', async () => {
  const error = { code: 'new_code', message: 'One.\nTwo\x1b.', who: 'owner', retry: false }
  api.answer('status.show', { error }, 409)
  const { code, stderr } = await run('status')
  expect(code).toBe(1)
  expect(stderr).toBe('new_code: One. Two\\u{1b}. — who can act: owner.\n')
})

test('a failed connection test is a failure with its answer', async () => {
  const answer = {
    id: ids.connection,
    state: 'failed',
    code: 'upstream_tls',
    era: null,
    tools: null,
    tookMs: 1,
  }
  api.answer('connection.test', answer)
  const { code, stdout, stderr } = await run('connection', 'test', 'docs', '--json')
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toEqual(answer)
  expect(stderr).toMatch(/^upstream_tls: .*\n$/)
})

test.each([
  [['nonsense']],
  [['connection', 'nonsense']],
  [['user', 'add', 'bob']],
  [['user', 'add', 'bob', '--role', 'boss']],
  [['user', 'list', 'more']],
  [['connection', 'show']],
  [['profile', 'create', 'x', '--hold', 'long']],
  [['profile', 'create', 'x', '--interactive', '--unattended']],
  [['profile', 'create', 'x', '--isolation', 'walls']],
  [['profile', 'grant', 'x', 'docs', '*', '--mode', 'write_unattended']],
  [['profile', 'grant', 'x', 'docs', '*', '--mode', 'read', '--rate', '3']],
  [['profile', 'grant', 'x', 'docs', '*', '--mode', 'read', '--approvers', 'all']],
  [['session', 'create', '--isolation', 'external']],
  [['executions', 'list', '--state', 'odd']],
  [['executions', 'resolve', ids.execution, '--note', 'x']],
  [['executions', 'resolve', ids.execution, '--applied']],
  [['executions', 'resolve', ids.execution, '--applied', '--abandoned', '--note', 'x']],
  [['executions', 'resolve', ids.execution, '--applied', '--allow-retry', '--note', 'x']],
  [['approvals', 'list', '--state', 'odd']],
  [['approvals', 'approve']],
  [['catalog', 'withdraw', 'docs']],
  [['config', 'emacs', '--session', ids.session]],
])('%j is a usage error: one line, exit code 2', async (words) => {
  const { code, stdout, stderr } = await run(...words)
  expect(code).toBe(2)
  expect(stdout).toBe('')
  expect(stderr).toMatch(/^usage: .* — who can act: you\. See "sallyport[a-z -]* --help"\.\n$/)
  expect(api.requests).toEqual([])
})

test('a usage error does not repeat what was typed as a value', async () => {
  for (const words of [
    ['user', 'list', 'sentinel'],
    ['user', 'list', '--bearer=sentinel'],
    ['connection', 'add', 'docs', 'https://a.example/', 'sentinel'],
    ['connection', 'add', 'docs', 'https://a.example/', '--header-file', "X-Key: 'sentinel'"],
    ['user', 'add', 'bob', '--role', 'sentinel'],
    ['config', 'sentinel', '--session', ids.session],
  ]) {
    const { code, stderr } = await run(...words)
    expect(code).toBe(2)
    expect(stderr).not.toContain('sentinel')
  }
})

test.each(['..', '.', ''])('a name such as %j is never a step in the path', async (name) => {
  expect(await run('connection', 'remove', name)).toMatchObject({ code: 5 })
  expect(api.requests).toEqual([])
})

test('a name with odd characters stays one name', async () => {
  await run('connection', 'show', 'a/../b?c#d')
  expect(api.only('connection.show').params).toEqual({ name: 'a/../b?c#d' })
})

test('filters become the query', async () => {
  await run('executions', 'list', '--session', ids.session, '--state', 'unknown', '--limit', '5')
  expect(api.only('execution.list').query).toEqual({
    session: ids.session,
    state: 'unknown',
    limit: '5',
  })
})

test('the token of a session goes into a new file and nowhere else', async () => {
  const path = join(folder, 'session.token')
  const words = ['session', 'create', '--profile', 'dev', '--isolation', 'external']
  const { code, stdout, stderr } = await run(...words, '--token-file', path, '--json')
  expect(code).toBe(0)
  expect(readFileSync(path, 'utf8')).toBe(`${sessionToken}\n`)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(stdout + stderr).not.toContain(sessionToken)
  expect(JSON.parse(stdout)).toMatchObject({ id: ids.session, tokenFile: path })
  const printed = await run(...words, '--json')
  expect(JSON.parse(printed.stdout).token).toBe(sessionToken)
})

test('an API token goes into a new file only; a file that is there stays, and no token is made', async () => {
  const path = join(folder, 'api.token')
  const words = ['token', 'create', '--user', 'ada', '--expires', '30', '--file', path]
  const { code, stdout, stderr } = await run(...words)
  expect(code).toBe(0)
  expect(readFileSync(path, 'utf8')).toBe(`${secretToken}\n`)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(stdout + stderr).not.toContain(secretToken)
  expect(api.only('token.create').body).toEqual({ user: 'ada', expiresDays: 30 })
  const again = await run(...words)
  expect(again.code).toBe(1)
  expect(again.stderr).toMatch(/^file_not_written: /)
  expect(api.requests).toHaveLength(1)
})

test('a refused token leaves no file', async () => {
  api.refuse('token.create', 'not_allowed')
  const path = join(folder, 'refused.token')
  expect(await run('token', 'create', '--user', 'ada', '--file', path)).toMatchObject({ code: 4 })
  expect(() => statSync(path)).toThrow('ENOENT')
})

test('status names address and user', async () => {
  const { stdout } = await run('status')
  expect(stdout).toContain(api.url)
  expect(stdout).toContain('ada (admin)')
  api.answer('status.show', { ...status, pendingApprovals: 3, unknown: 2 })
  const busy = await run('status')
  expect(busy.stdout).toMatch(/^waiting for a person +3$/m)
  expect(busy.stdout).toMatch(/^unknown outcomes +2$/m)
  const paused = { writesOnly: true, note: 'moving\x07', by: 'ada', at: '2026-11-30T12:00:00Z' }
  api.answer('status.show', { ...status, paused })
  expect((await run('status')).stdout).toContain(
    'writes, by ada at 2026-11-30T12:00:00Z: moving\\u{7}',
  )
})

test('keys show computes the fingerprint itself', async () => {
  const { stdout } = await run('keys', 'show')
  expect(stdout).toContain(`SHA256:${api.vault.kid}`)
})

test('an answer that is not of this release is refused', async () => {
  api.answer('user.list', { items: [{ name: 'ada' }] })
  expect((await run('user', 'list')).stderr).toMatch(/^wrong_release: /)
})

test('what answers but is not Sallyport is not reached', async () => {
  api.answer('status.show', '<html>', 404)
  const { code, stderr } = await run('status')
  expect(code).toBe(3)
  expect(stderr).toMatch(/^unreachable: .* is not Sallyport\. Set SALLYPORT_URL\.\n$/)
})
