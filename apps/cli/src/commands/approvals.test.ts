import { digestBytes } from '@sallyport/protocol/node'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runWords, type Setting } from '../testing/run-words.ts'
import { execution } from '../testing/sample-answers.ts'
import { approval, approvalDetail } from '../testing/sample-approvals.ts'
import { at, ids } from '../testing/sample-ids.ts'
import { ScriptedApi } from '../testing/scripted-api.ts'

let api: ScriptedApi
beforeEach(async () => {
  api = await new ScriptedApi().listen()
})
afterEach(() => api.close())

/** Ten minutes after it was asked for. */
const now = Date.parse(at) + 600_000
const run = (words: readonly string[], setting: Partial<Setting> = {}) =>
  runWords(words, { env: { SALLYPORT_URL: api.url, SALLYPORT_TOKEN: 't' }, now, ...setting })
const show = async (setting: Partial<Setting> = {}, ...more: string[]) =>
  (await run(['approvals', 'show', ids.approval, ...more], setting)).stdout.split('\n')

function answer(change: Partial<typeof approvalDetail>): void {
  api.answer('approval.show', { ...approvalDetail, ...change })
}

function answerArguments(value: unknown): string {
  const text = JSON.stringify(value)
  answer({ arguments: text, argumentsDigest: digestBytes(text) })
  return text
}

test('lists what is pending; the filters go along', async () => {
  const { stdout } = await run(['approvals', 'list'])
  expect(api.only('approval.list').query).toEqual({ state: 'pending' })
  expect(stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
    ['ID', 'STATE', 'LEFT', 'WHO ASKS', 'CONNECTION', 'TOOL', 'CALLER', 'SESSION'],
    [ids.approval, 'pending', '50:00', 'ada', 'docs', 'create_page', 'waits', 'nightly notes'],
    ['1 approval'],
    [''],
  ])
  await run(['approvals', 'list', '--state', 'denied', '--session', ids.session, '--limit', '3'])
  expect(api.requests.at(-1)?.query).toEqual({ state: 'denied', session: ids.session, limit: '3' })
  await run(['approvals', 'list', '--state', 'all'])
  expect(api.requests.at(-1)?.query).toEqual({})
})

test('a list cuts long names with a mark, and lets nobody begin a line', async () => {
  const tool = `x\nexe_1  approved \x1b[2A${'y'.repeat(200)}`
  api.answer('approval.list', { items: [{ ...approval, tool, caller: 'held_back' }] })
  const { stdout } = await run(['approvals', 'list'])
  expect(stdout.split('\n')).toHaveLength(4)
  expect(stdout).toContain('  x\\u{a}exe_1  approved \\u{1b}[2A…  has left  ')
})

test.each([
  [['approve', ids.approval, '--note', 'go'], 'approval.approve', { note: 'go' }, 'may be sent'],
  [['approve', ids.approval], 'approval.approve', {}, 'Approved: the call may be sent, once.'],
  [['deny', ids.approval, '--note', 'no'], 'approval.deny', { note: 'no' }, 'nothing is sent.'],
  [['deny', ids.approval], 'approval.deny', {}, 'Denied: nothing is sent.'],
] as const)('%j decides with what was typed', async (words, route, body, told) => {
  const { code, stdout } = await run(['approvals', ...words])
  expect(code).toBe(0)
  expect(api.only(route)).toMatchObject({ params: { id: ids.approval }, body })
  expect(stdout).toContain(told)
})

test('the first of two people is told that another is needed', async () => {
  api.answer('approval.approve', { ...approval, approvers: 'two', mayApprove: false })
  const { stdout } = await run(['approvals', 'approve', ids.approval])
  expect(stdout).toContain('Counted: another person must approve it too.')
})

test.each([
  ['approval_settled', 6],
  ['not_found', 5],
  ['not_allowed', 4],
] as const)('%s of a decision is one line and exit code %i', async (refusal, exit) => {
  for (const decision of ['approve', 'deny'] as const) {
    api.refuse(`approval.${decision}`, refusal)
    const { code, stdout, stderr } = await run(['approvals', decision, ids.approval])
    expect({ code, stdout }).toEqual({ code: exit, stdout: '' })
    expect(stderr).toMatch(new RegExp(`^${refusal}: [^\\n]* See [^\\n]*\\n$`))
  }
})

test('shows what is asked for, by whom, the arguments as JSON, and what is needed', async () => {
  expect(await show()).toEqual([
    'state       pending',
    'time left   50:00 (until 2026-11-30T13:00:00Z)',
    'who asks    ada',
    'connection  docs',
    'tool        create_page',
    'caller      waits for the answer',
    '',
    'arguments',
    '  {',
    '    "body": "First line\\n',
    '      | Second line",',
    '    "team": "blue",',
    '    "title": "Größe"',
    '  }',
    '',
    'fixed      team (set by the grant)',
    'needs      the owner of the session (ada)',
    'decisions  none',
    'you        may approve and deny',
    `session    ${ids.session} (nightly notes)`,
    '',
    'what the server says of the tool',
    '| Creates a page.',
    '| Tells its address.',
    '',
    `approval   ${ids.approval}`,
    `execution  ${ids.execution}`,
    'call       toolu_01',
    `digest     ${approval.argumentsDigest}`,
    `binding    ${approval.bindingHash}`,
    '',
  ])
})

test('--raw shows the exact arguments in ASCII', async () => {
  const lines = await show({}, '--raw')
  const at = lines.indexOf('arguments, exact')
  expect(lines[at + 1]).toBe(
    '| {"body":"First line\\nSecond line","team":"blue","title":"Gr\\u00f6\\u00dfe"}',
  )
  expect(lines.join('\n')).toMatch(/^[ -~\n]*$/)
  expect(lines).toContain(`digest     ${approval.argumentsDigest}`)
})

test.each([
  ['attached', 'waits for the answer'],
  ['detached', 'has left. Approved, the call is sent without it; the outcome waits'],
  ['held_back', 'has left and took the call back. Approved, it is sent only when the same call'],
] as const)('a caller that is %s: says what that means', async (caller, text) => {
  answer({ caller })
  expect((await show({ columns: 200 })).join('\n')).toContain(text)
})

test.each([
  [{ approvers: 'two' }, 'needs      two of: ada, approvers, administrators'],
  [{ approvers: 'role:approver' }, 'needs      one of: ada, role approver and above'],
  [
    { approvers: 'role:admin', excludesRequester: true },
    'needs      one of: role admin and above, but not ada',
  ],
  [
    { approvers: 'two', excludesRequester: true },
    'needs      two of: approvers, administrators, but not ada',
  ],
  [{ mayApprove: false }, 'you        may deny, not approve'],
  [{ mayApprove: false, mayDeny: false }, 'you        may not decide'],
  [{ arguments: null }, '| not kept, or not shown to you'],
  [{ state: 'expired', closedAt: at }, 'closed      2026-11-30T12:00:00Z'],
] as const)('of %j it says %s', async (change, line) => {
  answer(change)
  expect(await show()).toContain(line)
})

test('decisions so far are told with their notes', async () => {
  const decision = { by: 'bob', decision: 'approve', note: 'fine\nby me', at } as const
  answer({ approvers: 'two', decisions: [decision] })
  expect(await show()).toContain(
    'decisions  approved by bob at 2026-11-30T12:00:00Z: fine\\u{a}by me',
  )
})

test('a sandbox that is not separated is told first', async () => {
  expect((await show())[0]).toBe('state       pending')
  answer({ notSeparated: true })
  expect((await show())[0]).toMatch(/^! The sandbox is not separated from what the call reaches/)
})

test('a guest that nobody keeps from the server itself is told first', async () => {
  answer({ directAccess: 'not_denied' })
  expect((await show())[0]).toMatch(/^! Direct access is not denied/)
})

test('arguments that are not those of the digest are told first', async () => {
  answer({ arguments: '{"body":"something else"}' })
  expect((await show())[0]).toBe(
    '! These are not the arguments of the digest. Do not approve; tell the operator.',
  )
})

test('identical calls and unknown outcomes are told with state and age', async () => {
  const unknown = { ...execution, state: 'unknown', code: 'outcome_unknown' } as const
  answer({ identical: [execution], unknown: [unknown, unknown] })
  const lines = await show()
  expect(lines).toContain(
    'before      2 unknown outcomes of this tool, 1 identical call in the last day; see below',
  )
  expect(lines).toContain('calls of this tool whose outcome is unknown: 2')
  expect(lines).toContain(`  ${ids.execution}  unknown, outcome_unknown, 10 min ago`)
  expect(lines).toContain(`  ${ids.execution}  succeeded, 10 min ago`)
})

const hostile = {
  'to\nstate       approved': 'x\nstate       approved\nyou         may approve',
  '\x1b[2J\x1b[1;1H': '\x9b2J\r\x08\x7f',
  '\u202egnp.exe': '\u2066a\u2069\u200b\ufeff\u{e0041}',
  pad: `${'a'.repeat(70)}${' '.repeat(300)}state       approved`,
  pile: `e${'\u0301'.repeat(40)}\u0300`,
  wide: '日本語'.repeat(100),
}

test.each([40, 80])(
  'at %i columns no argument moves the cursor, hides, or begins a line',
  async (columns) => {
    answerArguments(hostile)
    for (const more of [[], ['--raw']]) {
      const lines = await show(
        { columns, terminal: true, env: { SALLYPORT_URL: api.url, NO_COLOR: '1' } },
        ...more,
      )
      const begin = lines.findIndex((line) => line.startsWith('arguments')) + 1
      const body = lines.slice(begin, lines.indexOf('', begin))
      expect(body.length).toBeGreaterThan(10)
      for (const line of body) expect(line).toMatch(/^(?: {2}|\| )/)
      expect(lines.join('\n')).not.toMatch(/[^\P{C}\n]/u)
      expect(lines.join('\n')).not.toMatch(/\p{Mn}{5}/u)
      for (const line of lines) expect([...line].length).toBeLessThanOrEqual(columns)
      expect(lines.filter((line) => /^state/.test(line))).toEqual(['state       pending'])
    }
  },
)

test('nothing of the arguments is left out, however long', async () => {
  const text = answerArguments({ body: `begin ${'word '.repeat(10_000)}end` })
  const piece = (line: string): string => line.replace(/^ *(?:\| )?/, '')
  const read = async (...more: string[]) => {
    const lines = await show({ columns: 80 }, ...more)
    const begin = lines.findIndex((line) => line.startsWith('arguments')) + 1
    return lines.slice(begin, lines.indexOf('', begin)).map(piece).join('')
  }
  expect(await read()).toBe(text.replace('":"', '": "'))
  expect(await read('--raw')).toBe(text)
})

test('tool, description, label and note of others stay in their places too', async () => {
  const text = `x\n\x1b[2Jstate       approved\u202e`
  const decision = { by: 'bob', decision: 'approve', note: text, at } as const
  answer({ tool: text, description: text, sessionLabel: text, callId: text, decisions: [decision] })
  const lines = await show({ columns: 80 })
  expect(lines.join('\n')).not.toMatch(/[^\P{C}\n]/u)
  expect(lines.filter((line) => /^state/.test(line))).toEqual(['state       pending'])
})

test('JSON is the answer as it came', async () => {
  const { stdout } = await run(['approvals', 'show', ids.approval, '--json'])
  expect(JSON.parse(stdout)).toEqual(approvalDetail)
  expect(stdout).toMatch(/^[ -~]*\n$/)
})
