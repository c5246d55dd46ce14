import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FakeTerminal } from '../testing/fake-terminal.ts'
import { type Ran, runWords } from '../testing/run-words.ts'
import { approval, approvalDetail } from '../testing/sample-approvals.ts'
import { at, ids } from '../testing/sample-ids.ts'
import { ScriptedApi } from '../testing/scripted-api.ts'
import { SteppedClock } from '../testing/stepped-clock.ts'
import { until } from '../testing/until.ts'
import type { World } from '../world.ts'

let api: ScriptedApi
let clock: SteppedClock
let terminal: FakeTerminal
beforeEach(async () => {
  api = await new ScriptedApi().listen()
  clock = new SteppedClock(Date.parse(at))
  terminal = new FakeTerminal()
})
afterEach(() => api.close())

const second = { ...approval, id: 'apr_01jd0000000000000000000002', tool: 'second_tool' }
const env = (more = {}) => ({ SALLYPORT_URL: api.url, SALLYPORT_TOKEN: 't', ...more })
const run = (words: readonly string[], world: Partial<World> = {}, more = {}) =>
  runWords(['approvals', 'watch', ...words], { env: env(more), world })

/** Starts the view and waits until it shows something, or has ended. */
async function start(...words: string[]): Promise<{ readonly end: Promise<Ran> }> {
  let hasEnded = false
  const end = run(words, terminal.world(clock)).finally(() => {
    hasEnded = true
  })
  await until(() => hasEnded || terminal.screen.text !== '')
  return { end }
}

/** Lets time pass until the screen shows it. */
const shows = (text: string): Promise<void> =>
  until(
    () => {
      clock.step(clock.next ?? 0)
      return terminal.screen.text.includes(text)
    },
    () => `for ${text} on\n${terminal.screen.text}`,
  )

test('without a terminal it is a usage error that says what to use instead', async () => {
  for (const more of [{ stdin: new PassThrough() }, { stdout: { write: () => true } }]) {
    const { code, stderr } = await run([], { ...terminal.world(clock), ...more })
    expect(code).toBe(2)
    expect(stderr).toBe(
      'usage: approvals watch needs a terminal — who can act: you. Use "sallyport approvals list --json", or "sallyport approvals watch --json".\n',
    )
  }
  expect(await run([], terminal.world(clock), { TERM: 'dumb' })).toMatchObject({ code: 2 })
  expect(api.requests).toEqual([])
})

test.each([
  ['not_authenticated', 4],
  ['not_allowed', 4],
] as const)('%s at the beginning is an error as of any command', async (refusal, exit) => {
  api.refuse('approval.list', refusal)
  const { code, stderr } = await run([], terminal.world(clock))
  expect(code).toBe(exit)
  expect(stderr).toMatch(new RegExp(`^${refusal}: [^\\n]*\\n$`))
  expect(terminal.screen.written).toBe('')
})

test('nothing that answers at the beginning is an error too', async () => {
  api.answer('approval.list', '<html>', 502)
  expect(await run([], terminal.world(clock))).toMatchObject({ code: 3 })
  expect(terminal.screen.written).toBe('')
})

test('new ones appear with a bell, and q gives the terminal back', async () => {
  const { end } = await start()
  expect(terminal.isRaw).toBe(true)
  expect([...terminal.screen.modes].sort()).toEqual([1049, 2004])
  expect(terminal.screen.text).toContain('1 approval waiting')
  expect(terminal.screen.bells).toBe(0)
  api.answer('approval.list', { items: [second, approval] })
  await shows('docs: second_tool')
  expect(terminal.screen.bells).toBe(1)
  terminal.type('q')
  expect(await end).toMatchObject({ code: 0, stdout: '', stderr: '' })
  expect(terminal.isAsBefore).toBe(true)
  expect(terminal.heard).toEqual([])
})

test('--quiet rings no bell', async () => {
  const { end } = await start('--quiet')
  api.answer('approval.list', { items: [second, approval] })
  await shows('docs: second_tool')
  expect(terminal.screen.bells).toBe(0)
  terminal.type('q')
  await end
})

test('what changes elsewhere changes in its place', async () => {
  const { end } = await start()
  api.answer('approval.list', { items: [{ ...approval, caller: 'held_back' }] })
  await shows('has left')
  api.answer('approval.list', { items: [] })
  api.answer('approval.show', { ...approvalDetail, state: 'expired', closedAt: at })
  await shows('> expired')
  expect(terminal.screen.text).toContain('0 approvals waiting')
  terminal.type('q')
  await end
})

test.each([
  ['a', 'approval.approve', 'Approved: the call may be sent, once.'],
  ['d', 'approval.deny', 'Denied: nothing is sent.'],
] as const)('%s shows the arguments, asks for a note, and decides', async (key, route, told) => {
  const { end } = await start()
  terminal.type(key)
  await shows('"title": "Größe"')
  expect(terminal.screen.text).toContain('Note (may be empty): _')
  terminal.type('as agreed')
  await shows('as agreed_')
  expect(api.requests.filter((one) => one.route === route)).toEqual([])
  terminal.type('\r')
  await shows(told)
  expect(api.only(route)).toMatchObject({
    params: { id: ids.approval },
    body: { note: 'as agreed' },
  })
  terminal.type('q')
  await end
})

test('an empty note is none; r shows the raw arguments; Esc goes back', async () => {
  const { end } = await start()
  terminal.type('\r')
  await shows('| Second line')
  terminal.type('r')
  await shows('| {"body":"First line\\nSecond line","team":"blue","title":"Gr\\u00f6\\u00dfe"}')
  terminal.type('a')
  await shows('Approve?')
  terminal.type('\x1b')
  await shows('Esc back')
  terminal.type('a\r')
  await shows('Approved')
  expect(api.only('approval.approve').body).toEqual({})
  terminal.type('q')
  await end
})

test('a decision that somebody else made is told', async () => {
  const { end } = await start()
  api.refuse('approval.approve', 'approval_settled')
  terminal.type('a')
  await shows('"title": "Größe"')
  terminal.type('\r')
  await shows('approval_settled: That approval was decided')
  terminal.type('q')
  await end
})

test('goes on while nothing answers, and says so', async () => {
  const { end } = await start()
  api.answer('approval.list', '<html>', 502)
  await shows('! Not reachable; asked again in 2 s.')
  expect(terminal.screen.text).toContain('create_page')
  api.answer('approval.list', { items: [second] })
  await shows('second_tool')
  expect(terminal.screen.text).not.toContain('Not reachable')
  terminal.type('q')
  await end
})

test('finds an up that was started again on another port', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-again-'))
  const other = await new ScriptedApi().listen()
  other.answer('approval.list', { items: [second] })
  const running = (url: string) =>
    writeFileSync(
      join(folder, 'endpoint.json'),
      JSON.stringify({ url, guestUrl: url, pid: process.pid }),
    )
  running(api.url)
  const env = { SALLYPORT_DATA: folder, SALLYPORT_TOKEN: 't' }
  const end = runWords(['approvals', 'watch'], { env, world: terminal.world(clock) })
  await until(() => terminal.screen.text !== '')
  running(other.url)
  api.answer('approval.list', '<html>', 502)
  await shows('second_tool')
  terminal.type('q')
  await end
  await other.close()
  rmSync(folder, { recursive: true })
})

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s gives the terminal back, then ends as it always does',
  async (name) => {
    const { end } = await start()
    terminal.signal(name)
    await end
    expect(terminal.raised).toEqual([name])
    expect(terminal.isAsBefore).toBe(true)
    expect(terminal.heard).toEqual([])
  },
)

test('a terminal that cannot be read any more hangs up', async () => {
  const { end } = await start()
  terminal.fail(Object.assign(new Error('read EIO'), { code: 'EIO' }))
  await end
  expect(terminal.raised).toEqual(['SIGHUP'])
  expect(terminal.isAsBefore).toBe(true)
})

test('Control-C is an interrupt, and a terminal that is gone hangs up', async () => {
  const { end } = await start()
  terminal.type('\x03')
  await end
  expect(terminal.raised).toEqual(['SIGINT'])
  terminal = new FakeTerminal()
  const { end: other } = await start()
  terminal.hangUp()
  await other
  expect(terminal.raised).toEqual(['SIGHUP'])
})

test.each([
  ['Control-Z', () => terminal.type('\x1a')],
  ['SIGTSTP', () => terminal.signal('SIGTSTP')],
] as const)('%s gives the terminal back until it goes on', async (_, stop) => {
  const { end } = await start()
  const before = terminal.screen.text
  let was: unknown
  terminal.whileStopped = () => {
    was = { isAsBefore: terminal.isAsBefore, isHeard: terminal.heard.includes('SIGTSTP') }
    terminal.screen.write('\x1b[2J')
  }
  stop()
  await until(() => terminal.raised.length === 1)
  expect(was).toEqual({ isAsBefore: true, isHeard: false })
  expect(terminal.isRaw).toBe(true)
  expect([...terminal.screen.modes].sort()).toEqual([1049, 2004])
  expect(terminal.screen.text).toBe(before)
  terminal.type('q')
  await end
  expect(terminal.isAsBefore).toBe(true)
})

test('a new size and a continuation draw it anew', async () => {
  const { end } = await start()
  terminal.size = { columns: 40, rows: 10 }
  terminal.signal('SIGWINCH')
  expect(terminal.screen.text.split('\n')).toHaveLength(10)
  const before = terminal.screen.text
  terminal.isRaw = false
  terminal.screen.write('\x1b[2J')
  terminal.signal('SIGCONT')
  expect(terminal.screen.text).toBe(before)
  expect(terminal.isRaw).toBe(true)
  terminal.type('q')
  await end
})

test('when we fail, the terminal is given back and the failure is told', async () => {
  const { end } = await start()
  terminal.breaks = new TypeError('ours')
  terminal.type('\r')
  expect(await end).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^internal: .*\(field TypeError\)[^\n]*\n$/),
  })
  expect(terminal.isAsBefore).toBe(true)
})

test('an exit from elsewhere gives the terminal back', async () => {
  const { end } = await start()
  terminal.signal('exit')
  expect(terminal.isAsBefore).toBe(true)
  terminal.type('q')
  await end
})

test('with NO_COLOR nothing is coloured', async () => {
  const world = terminal.world(clock)
  const end = runWords(['approvals', 'watch'], { env: env({ NO_COLOR: '1' }), world })
  await until(() => terminal.screen.text !== '')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours
  const colours = /\x1b\[[1-9]\d*m/
  expect(terminal.screen.written).not.toMatch(colours)
  terminal.type('q')
  await end
  terminal = new FakeTerminal()
  const { end: other } = await start()
  expect(terminal.screen.written).toMatch(colours)
  terminal.type('q')
  await other
})

test('--json tells one change a line, without a terminal, in ASCII', async () => {
  let written = ''
  const stdout = {
    write: (text: string) => {
      written += text
    },
  }
  const lines = () =>
    written
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
  const toLines = async (count: number) => {
    await until(
      () => {
        clock.step(clock.next ?? 0)
        return written.split('\n').length > count
      },
      () => written,
    )
    return lines().at(-1)
  }
  const label = 'gr\u00fc\u202e'
  api.answer('approval.list', { items: [{ ...approval, sessionLabel: label }] })
  const end = run(['--json'], { stdout, now: clock.now, delay: clock.delay })
  expect(await toLines(1)).toEqual({
    event: 'approval',
    approval: { ...approval, sessionLabel: label },
  })
  api.answer('approval.list', '<html>', 502)
  expect(await toLines(2)).toEqual({ event: 'unreachable', code: 'unreachable', againInMs: 2000 })
  api.answer('approval.list', { items: [] })
  api.answer('approval.show', { ...approvalDetail, state: 'approved' })
  expect(await toLines(4)).toMatchObject({ event: 'approval', approval: { state: 'approved' } })
  expect(lines().at(-2)).toEqual({ event: 'reachable' })
  api.refuse('approval.show', 'not_found')
  expect(await toLines(5)).toEqual({ event: 'gone', id: ids.approval })
  expect(written).toMatch(/^[ -~\n]*$/)
  void end
})
