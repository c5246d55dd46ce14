import { stripVTControlCharacters } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runWords, type Setting } from '../testing/run-words.ts'
import { execution, sampleAnswers } from '../testing/sample-answers.ts'
import { at, ids } from '../testing/sample-ids.ts'
import { ScriptedApi } from '../testing/scripted-api.ts'

let api: ScriptedApi
beforeEach(async () => {
  api = await new ScriptedApi().listen()
})
afterEach(() => api.close())

const run = (words: readonly string[], setting: Partial<Setting> = {}) =>
  runWords(words, { env: { SALLYPORT_URL: api.url, SALLYPORT_TOKEN: 't' }, ...setting })

const unknownId = 'exe_01jd0000000000000000000002'
const unknown = {
  ...execution,
  id: unknownId,
  state: 'unknown',
  code: 'outcome_unknown',
  mode: 'write_with_approval',
  access: 'write',
  approvalId: ids.approval,
  caller: 'held_back',
} as const

test('a list has unknown outcomes first and says what to do', async () => {
  api.answer('execution.list', { items: [execution, unknown] })
  const { stdout } = await run(['executions', 'list'])
  const lines = stdout.split('\n')
  expect(lines[1]).toMatch(new RegExp(`^${unknownId} +unknown +docs`))
  expect(lines[2]).toMatch(new RegExp(`^${ids.execution} +succeeded`))
  expect(lines.slice(3)).toEqual([
    '2 executions',
    '! 1 write may have been carried out or not: the outcome is unknown.',
    '  Find out at the server, then: sallyport executions resolve ID --applied | --not-applied | --abandoned --note TEXT',
    '',
  ])
  const json = await run(['executions', 'list', '--json'])
  const { items } = JSON.parse(json.stdout)
  expect(items).toEqual([execution, unknown])
})

test('a list without an unknown outcome says nothing of them', async () => {
  const { stdout } = await run(['executions', 'list'])
  expect(stdout).toMatch(/1 execution\n$/)
})

test('shows arguments and result, behind their margins', async () => {
  const hostile = '{"query":"\\u001b[2J\\nstate  resolved"}'
  api.answer('execution.show', {
    ...unknown,
    arguments: '{"query":"tea"}',
    result: hostile,
  })
  const { stdout } = await run(['executions', 'show', unknownId], { terminal: true, columns: 60 })
  const lines = stripVTControlCharacters(stdout).split('\n')
  expect(lines).toContain(`approval      ${ids.approval}`)
  expect(lines).toContain('caller        held back')
  const begin = lines.indexOf('arguments')
  expect(lines.slice(begin, begin + 13)).toEqual([
    'arguments',
    '  {',
    '    "query": "tea"',
    '  }',
    '',
    'result',
    '  {',
    '    "query": "\\u001b[2J\\n',
    '      | state  resolved"',
    '  }',
    '',
    '! 1 write may have been carried out or not: the outcome is unknown.',
    expect.stringMatching(/^ {2}Find out at the server/),
  ])
})

test('shows what a person found out, and what the next call gets', async () => {
  const resolved = sampleAnswers['execution.resolve']
  api.answer('execution.show', { ...resolved, arguments: null, result: null })
  const { stdout } = await run(['executions', 'show', ids.execution])
  expect(stdout).toContain('resolved      applied, by ada at 2026-11-30T12:00:00Z\n')
  expect(stdout).toContain('note          the page is there\n')
  expect(stdout).toContain('next call     is answered with this, once\n')
  expect(stdout).not.toContain('result\n')
})

test.each([
  [['--applied'], 'applied', false],
  [['--not-applied'], 'not_applied', false],
  [['--abandoned'], 'abandoned', false],
  [['--not-applied', '--allow-retry'], 'not_applied', true],
  [['--abandoned', '--allow-retry'], 'abandoned', true],
] as const)('%j resolves', async (flags, outcome, allowRetry) => {
  const words = ['executions', 'resolve', unknownId, ...flags, '--note', 'looked']
  expect(await run(words)).toMatchObject({ code: 0, stderr: '' })
  expect(api.only('execution.resolve')).toMatchObject({
    params: { id: unknownId },
    body: { outcome, note: 'looked', allowRetry },
  })
})

test('what is not unknown any more is a conflict', async () => {
  api.refuse('execution.resolve', 'not_unknown')
  const words = ['executions', 'resolve', unknownId, '--abandoned', '--note', at]
  const { code, stderr } = await run(words)
  expect(code).toBe(6)
  expect(stderr).toMatch(
    /^not_unknown: .* See what became of it with "sallyport executions show ID"\.\n$/,
  )
})
