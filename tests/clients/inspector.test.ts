import { afterAll, beforeAll, expect, test } from 'vitest'
import { type GovernedRun, startGovernedRun } from './governed-run.ts'
import { findClient } from './install-clients.ts'
import { type Era, runInspector } from './run-inspector.ts'

const { program } = await findClient('inspector')
const inspectorTest = test.skipIf(program === undefined)
const eras: readonly Era[] = ['legacy', 'auto', 'modern']

let run: GovernedRun
beforeAll(async () => {
  if (!program) return
  run = await startGovernedRun({ granted: ['counter_read', 'report', 'fails'], withheld: ['echo'] })
})
afterAll(() => run?.remove())

async function inspect(era: Era, ...args: string[]) {
  const server = await run.openSession()
  return runInspector({ program: program as string, server, era, args })
}

inspectorTest.each(eras)('lists what was granted, %s', async (era) => {
  const { stdout, stderr } = await inspect(era, '--method', 'tools/list')
  const { tools } = JSON.parse(stdout).result as { tools: { name: string }[] }
  expect(tools.map(({ name }) => name).toSorted(), stderr).toEqual([
    'counter_read',
    'fails',
    'report',
  ])
})

inspectorTest.each(eras)(
  'calls a granted tool and gets text and structure as they were sent, %s',
  async (era) => {
    const before = run.upstream.count('tools/call')
    const { stdout, stderr, code } = await inspect(
      era,
      '--method',
      'tools/call',
      '--tool-name',
      'report',
    )
    expect(JSON.parse(stdout).result, stderr).toMatchObject({
      content: [{ type: 'text', text: 'The report is in the structure.' }],
      structuredContent: { value: run.upstream.state.counter },
    })
    expect(code).toBe(0)
    const calls = run.upstream.requests.filter(({ method }) => method === 'tools/call')
    expect(run.upstream.count('tools/call')).toBe(before + 1)
    expect(calls.at(-1)?.headers.authorization).toBe(`Bearer ${run.credential}`)
  },
)

inspectorTest.each(eras)('gets the error of a tool as its result, %s', async (era) => {
  const { stdout, code } = await inspect(era, '--method', 'tools/call', '--tool-name', 'fails')
  expect(JSON.parse(stdout).result).toMatchObject({
    isError: true,
    content: [{ type: 'text', text: 'The thing could not be done.' }],
  })
  expect(code).toBe(5)
})

inspectorTest.each(eras)('cannot call by name what was not granted, %s', async (era) => {
  const called = await inspect(era, '--method', 'tools/call', '--tool-name', 'echo')
  expect(called).toMatchObject({ code: 5, stdout: '' })
  expect(called.stderr).toContain('tool_not_found')
  const sent = run.upstream.requests.map(({ text }) => text)
  expect(sent.filter((text) => text.includes('"echo"'))).toEqual([])
})
