import { expect, test } from 'vitest'
import {
  SampleJournal,
  sampleEvent,
} from '../../../../packages/protocol/src/journal/sample-journal.ts'
import type { Run } from '../run.ts'
import { verifyRunning } from './verify-journal.ts'

interface Asked {
  readonly query?: Readonly<Record<string, string>>
  readonly body?: { readonly ids: readonly string[] }
}

/** Answers exports part by part, and rows by id; `asked` is what it was asked, in order. */
function gateway(parts: Record<string, { lines: string[]; next?: string; resume?: string }>) {
  const asked: Asked[] = []
  const rows = new Map<string, object>()
  const call = async (name: string, what: Asked) => {
    asked.push(what)
    if (name === 'audit.executions')
      return { items: (what.body?.ids ?? []).flatMap((id) => rows.get(id) ?? []) }
    const { next, resume } = what.query ?? {}
    const { lines, ...more } = parts[next ?? resume ?? 'first'] ?? { lines: [] }
    return { next: null, resume: null, ...more, lines }
  }
  const row = (id: string, state: string, sequence: number) =>
    rows.set(id, { id, state, sequence, gatewayInstance: 'ins_a' })
  return { asked, row, call: call as unknown as Run['call'] }
}

function sample(): string[] {
  const journal = new SampleJournal()
  journal.page('a', sampleEvent('x', 1, 'dispatching'), sampleEvent('y', 1, 'refused'))
  journal.page('a', sampleEvent('x', 2, 'succeeded'))
  journal.checkpoint()
  return journal.lines()
}

test('reads part by part, and compares the row of each execution once', async () => {
  const lines = sample()
  const { asked, row, call } = gateway({
    first: { lines: lines.slice(0, 3), next: '1.0-2.1-1' },
    '1.0-2.1-1': { lines: lines.slice(3), resume: '2.1' },
  })
  row('x', 'succeeded', 2)
  row('y', 'refused', 1)
  const { findings, checked } = await verifyRunning(call)
  expect(findings).toEqual([])
  expect(checked.rows).toBe(2)
  expect(asked).toEqual([
    { query: {} },
    { body: { ids: ['y'] } },
    { query: { next: '1.0-2.1-1' } },
    { body: { ids: ['x'] } },
  ])
})

test('asks for no more than five hundred rows at a time', async () => {
  const journal = new SampleJournal()
  const events = Array.from({ length: 1_100 }, (_, at) => sampleEvent(`x${at}`, 1, 'refused'))
  journal.page('a', ...events)
  const { asked, call, row } = gateway({ first: { lines: journal.lines() } })
  for (const { execution = '' } of events) row(execution, 'refused', 1)
  expect(await verifyRunning(call)).toMatchObject({ findings: [], checked: { rows: 1_100 } })
  expect(asked.map(({ body }) => body?.ids.length)).toEqual([undefined, 500, 500, 100])
})

/** What is read first knows the beginning of an execution whose row has come further. */
function ahead(rest: (lines: string[]) => string[]) {
  const journal = new SampleJournal()
  journal.page('a', sampleEvent('x', 1, 'dispatching'))
  const first = journal.lines()
  journal.page('a', sampleEvent('x', 2, 'succeeded'))
  const [header = '', key = '', , second = '', end = ''] = journal.lines()
  const { call, row, asked } = gateway({
    first: { lines: first, resume: '1.0' },
    '1.0': { lines: rest([header, key, second, end]) },
  })
  row('x', 'succeeded', 2)
  return { asked, report: verifyRunning(call) }
}

test('reads on where it ended when a row is ahead, and believes what it finds there', async () => {
  const { asked, report } = ahead((lines) => lines)
  expect(await report).toMatchObject({ findings: [], checked: { rows: 1, events: 2 } })
  expect(asked).toContainEqual({ query: { resume: '1.0' } })
})

test('finds a row that is ahead of everything there is', async () => {
  const { report } = ahead((lines) => lines.toSpliced(2, 1))
  expect((await report).findings).toEqual([
    { kind: 'row_differs', execution: 'x', stream: 'a', sequence: 1, field: 'sequence' },
  ])
})
