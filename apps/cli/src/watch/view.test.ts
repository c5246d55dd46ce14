import { stripVTControlCharacters } from 'node:util'
import { digestBytes } from '@sallyport/protocol/node'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Approval, ApprovalDetail } from '../print/approval.ts'
import { styleFor } from '../print/style.ts'
import { widthOf } from '../print/width.ts'
import { execution } from '../testing/sample-answers.ts'
import { approval, approvalDetail } from '../testing/sample-approvals.ts'
import { at } from '../testing/sample-ids.ts'
import { begin, type Opened, type Row, type State } from './state.ts'
import { draw } from './view.ts'

const now = Date.parse(at) + 600_000
const plain = styleFor({ stdout: { write: () => true }, env: {} } as never)
const painted = styleFor({ stdout: { write: () => true, isTTY: true }, env: {} } as never)
const idOf = (n: number): string => `apr_01jd000000000000000000000${n}`

const row = (n: number, change: Partial<Approval> = {}): Row => {
  const one = { ...approval, id: idOf(n), ...change }
  return { approval: one, overSince: one.state === 'pending' ? null : now }
}

const rows: readonly Row[] = [
  row(6, { tool: 'create_page_with_a_name_that_is_longer_than_any_column_has_room_for' }),
  row(5, {
    tool: 'wipe\n> pending\x1b[2J\u202e',
    caller: 'held_back',
    requester: 'grace',
    sessionLabel: 'x\n\x1b[2J',
  }),
  row(4, { connection: 'tracker', tool: 'close_issue', caller: 'detached' }),
  row(3, { state: 'approved', expiresAt: '2026-11-30T12:10:42.000Z' }),
  row(2, { state: 'denied', closedAt: at }),
  row(1, { state: 'expired', closedAt: at, tool: '日本語のツール' }),
]

const text = JSON.stringify({
  body: 'First line\nstate  denied\nThird line, which is so long that it goes on below itself.',
  ids: [1, 2],
  'odd\u202ekey': null,
})
const detail: ApprovalDetail = {
  ...approvalDetail,
  ...(rows[1] as Row).approval,
  tool: 'wipe',
  arguments: text,
  argumentsDigest: digestBytes(text),
  unknown: [{ ...execution, state: 'unknown' }],
}
const opened: Opened = { id: idOf(5), isRaw: false, scroll: 0, detail, prompt: undefined }
const prompt = { decision: 'deny', note: '', isSent: false } as const

const scenes: Readonly<Record<string, Partial<State>>> = {
  'nothing waits': { hasSeen: true },
  'the list': { hasSeen: true, rows, selected: idOf(5) },
  'the list, not reachable': {
    ...{ hasSeen: true, rows: rows.slice(0, 2), selected: idOf(6) },
    trouble: { text: undefined, againAt: now + 3500 },
  },
  'the list, refused': {
    ...{ hasSeen: true, rows: rows.slice(0, 1), selected: idOf(6) },
    trouble: { text: 'not_allowed: This is not allowed for this user.', againAt: now + 3500 },
  },
  'the list, after a decision': {
    ...{ hasSeen: true, rows: rows.slice(3), selected: idOf(3) },
    notice: { text: 'Approved: the call may be sent, once.', isBad: false },
  },
  'details, being fetched': { rows, opened: { ...opened, detail: undefined } },
  details: { rows, opened },
  'details, scrolled too far': { rows, opened: { ...opened, scroll: 1000 } },
  'details, raw': { rows, opened: { ...opened, isRaw: true, scroll: 8 } },
  'a question': { rows, opened: { ...opened, prompt, scroll: undefined } },
  'a question, being fetched': {
    rows,
    opened: { ...opened, prompt, detail: undefined, scroll: undefined },
  },
  'a question with a long note': {
    ...{ rows, notice: { text: 'unreachable: Sallyport does not answer.', isBad: true } },
    opened: { ...opened, prompt: { ...prompt, note: `${'because '.repeat(12)}\u202e日本` } },
  },
  'a decision on its way': {
    rows,
    opened: { ...opened, scroll: 2, prompt: { decision: 'approve', note: 'go', isSent: true } },
  },
}

const stateOf = (part: Partial<State>, columns: number, lines: number): State => ({
  ...begin(now, columns, lines),
  ...part,
})

test('the view is as it was reviewed, at 80x24 and at 40x10', async () => {
  const frames: string[] = []
  for (const [columns, lines] of [
    [80, 24],
    [40, 10],
  ] as const)
    for (const [name, part] of Object.entries(scenes)) {
      const frame = draw(stateOf(part, columns, lines), plain)
      const edge = `+${'-'.repeat(columns)}+`
      const inside = frame.lines.map(
        (line) => `|${line}${' '.repeat(Math.max(0, columns - widthOf(line)))}|`,
      )
      frames.push(`${name}, ${columns}x${lines}`, edge, ...inside, edge, '')
    }
  await expect(frames.join('\n')).toMatchFileSnapshot('view.golden.txt')
})

test('whatever the size, there are as many lines as the terminal has, and none is wider', () => {
  const size = fc.record({
    columns: fc.integer({ min: 30, max: 200 }),
    lines: fc.integer({ min: 3, max: 60 }),
    name: fc.constantFrom(...Object.keys(scenes)),
  })
  fc.assert(
    fc.property(size, ({ columns, lines, name }) => {
      const frame = draw(stateOf(scenes[name] ?? {}, columns, lines), plain)
      expect(frame.lines).toHaveLength(lines)
      for (const line of frame.lines) {
        expect(widthOf(line)).toBeLessThanOrEqual(columns)
        expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
      }
    }),
  )
})

test('identical calls and unknown outcomes are counted above the arguments, and told below them', () => {
  const identical = [{ ...execution, state: 'succeeded' } as const]
  const seen = { ...detail, identical, unknown: detail.unknown }
  const { lines } = draw(stateOf({ rows, opened: { ...opened, detail: seen } }, 100, 60), plain)
  const text = lines.join('\n')
  const [above, below] = text.split('\narguments\n')
  expect(above).toMatch(/1 unknown outcome of this tool, 1 identical call in the last day/)
  expect(below).toContain(`${execution.id}  unknown`)
  expect(below).toContain(`${execution.id}  succeeded`)
  const none = { ...detail, identical: [], unknown: [] }
  const clean = draw(stateOf({ rows, opened: { ...opened, detail: none } }, 100, 60), plain)
  expect(clean.lines.join('\n')).not.toMatch(/identical|unknown/)
})

test('scrolling ends where the details end', () => {
  const state = stateOf({ rows, opened: { ...opened, scroll: 1000 } }, 80, 24)
  const { scroll, lines } = draw(state, plain)
  expect(scroll).toBeGreaterThan(0)
  expect(lines.at(-3)).toMatch(/^ +a+$/)
  const small = stateOf({ rows, opened: { ...opened, scroll: 3 } }, 80, 200)
  expect(draw(small, plain).scroll).toBe(0)
})

test('a question shows the arguments from their beginning where there is no room for all', () => {
  const asking = { rows, opened: { ...opened, prompt, scroll: undefined } }
  const small = draw(stateOf(asking, 40, 10), plain)
  expect(small.lines[1]).toBe('arguments')
  expect(small.scroll).toBeGreaterThan(0)
  expect(small.lines.at(-1)).toMatch(/^↓ \d+ more {2}Enter denies/)
  expect(draw(stateOf(asking, 80, 40), plain)).toMatchObject({ scroll: 0 })
  expect(draw(stateOf(asking, 80, 60), plain).lines.at(-1)).toBe('Enter denies  Esc back')
})

test('a list longer than the terminal shows the part with the selection', () => {
  const many = Array.from({ length: 9 }, (_, at) => row(9 - at, { tool: `tool_${9 - at}` }))
  for (let n = 1; n <= 9; n++) {
    const { lines } = draw(stateOf({ rows: many, selected: idOf(n) }, 80, 8), plain)
    expect(lines.filter((line) => line.startsWith('> '))).toEqual([
      expect.stringContaining(`tool_${n} `),
    ])
  }
})

test('the selection is marked without colour too, and colours change nothing else', () => {
  const state = stateOf(scenes['the list'] ?? {}, 80, 24)
  const bare = draw(state, plain).lines
  const coloured = draw(state, painted).lines
  expect(coloured).not.toEqual(bare)
  expect(coloured.map((line) => stripVTControlCharacters(line))).toEqual(bare)
  expect(bare.filter((line) => line.startsWith('> '))).toHaveLength(1)
})

test('64 KiB of arguments are drawn soon', () => {
  const long = JSON.stringify({ text: 'é日 '.repeat(16_000) })
  const state = stateOf(
    { rows, opened: { ...opened, detail: { ...detail, arguments: long } } },
    80,
    24,
  )
  const before = performance.now()
  draw(state, plain)
  expect(performance.now() - before).toBeLessThan(2000)
})
