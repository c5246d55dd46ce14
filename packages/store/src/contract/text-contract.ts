import { expect, test } from 'vitest'
import {
  exampleCatalog,
  exampleExecution,
  exampleGrant,
  exampleSession,
  exampleTool,
  exampleUser,
} from './examples.ts'
import { type GetSubject, insertExecutions } from './subject.ts'

/** What guests, upstreams and attackers send. */
const strangeTexts = [
  '',
  ' ',
  'NUL \0 inside',
  '\0',
  'half a pair \ud800',
  '\udc00 the other half',
  '\u0001 begins with the mark',
  '\u0001"like a kept text"',
  'e\u0301 is not \u00e9',
  '\u202etxet',
  '\u{e0041}\ufeff\ufffe',
  '😀 \u{10ffff}',
  `'"\\$1?1:a@b%_;--/*\n\r\t{}[],NULL`,
]

export function textContract(subject: GetSubject): void {
  test('gives back every text exactly as it was', async () => {
    const { store } = subject()
    const rows = strangeTexts.map((tool) => exampleExecution({ tool, callId: `${tool}.` }))
    expect(await insertExecutions(store, ...rows)).toEqual(rows.map(() => 'inserted'))
    for (const row of rows) expect(await store.executions.get(row.id)).toEqual(row)
  })

  test('finds a row by any text, and only by that', async () => {
    const { store } = subject()
    const { sessionId } = exampleExecution()
    const rows = strangeTexts.map((callId) => exampleExecution({ sessionId, callId }))
    await insertExecutions(store, ...rows)
    for (const row of rows)
      expect((await store.executions.byCall(sessionId, row.callId))?.id).toBe(row.id)
    expect(await store.executions.byCall(sessionId, '\u00e9 is not e\u0301')).toBeUndefined()
  })

  test('tells apart texts that only a normalization or a folding would make equal', async () => {
    const { store } = subject()
    const names = ['ada', 'Ada', 'ADA', 'ada ', 'ad\u0061\u0301', 'ad\u00e1', 'ı', 'i', 'ß', 'ss']
    await store.transact(async (tx) => {
      for (const name of names) expect(await tx.users.insert(exampleUser({ name }))).toBe(true)
    })
    for (const name of names) expect((await store.users.byName(name))?.name).toBe(name)
  })

  test('sorts by code point, whatever the language of the machine', async () => {
    const { store } = subject()
    const inOrder = ['', '-', 'A', 'B', 'Z', '_', 'a', 'aa', 'b', 'é', '\ud7ff', '\uffee', '😀']
    await store.transact(async (tx) => {
      for (const name of inOrder.toReversed()) await tx.users.insert(exampleUser({ name }))
    })
    expect((await store.users.list()).map(({ name }) => name)).toEqual(inOrder)
  })
}

export function jsonContract(subject: GetSubject): void {
  test('gives back JSON as it was', async () => {
    const { store } = subject()
    const json: unknown = JSON.parse(
      String.raw`{"z":[1,-1.5,1e21,5e-324,9007199254740991,true,null,""],"a":{"__proto__":{"x":1},"":0,
        "nul\u0000":"\ud800","constructor":"\u2028😀"},"10":1,"2":2}`,
    )
    let deep: unknown = 'bottom'
    for (let i = 0; i < 60; i++) deep = [deep]
    const catalog = exampleCatalog({ serverInfo: json })
    const tool = exampleTool({ inputSchema: json, outputSchema: deep, annotations: null })
    await store.transact((tx) => tx.catalogs.insert(catalog, [tool]))
    const readBack = await store.catalogs.get(catalog.id)
    expect(JSON.stringify(readBack?.serverInfo)).toBe(JSON.stringify(json))
    expect(await store.catalogs.tools(catalog.id)).toEqual([tool])
  })

  test('keeps JSON null apart from nothing', async () => {
    const { store } = subject()
    const session = exampleSession({ evidence: null })
    await store.transact((tx) => tx.sessions.insert(session))
    expect(await store.sessions.get(session.id)).toEqual(session)
  })

  test('hands out JSON that nobody can change for others', async () => {
    const { store } = subject()
    const grant = exampleGrant()
    await store.transact((tx) => tx.grants.insert(grant))
    const limits = (await store.grants.get(grant.id))?.limits as { fixed: Record<string, string> }
    expect(() => {
      limits.fixed['space'] = 'all'
    }).toThrow(TypeError)
    expect((await store.grants.get(grant.id))?.limits).toEqual({
      fixed: { space: 'docs' },
      rate: { count: 10, seconds: 60 },
    })
  })
}

export function numbersContract(subject: GetSubject): void {
  test('keeps integers as far as a double holds them, and refuses the others', async () => {
    const { store } = subject()
    const largest = exampleExecution({ arrivedAt: 9007199254740991, resultBytes: 4294967297 })
    await insertExecutions(store, largest)
    expect(await store.executions.get(largest.id)).toEqual(largest)
    for (const arrivedAt of [9007199254740992, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
      await expect(insertExecutions(store, exampleExecution({ arrivedAt }))).rejects.toThrow(
        TypeError,
      )
  })

  test('keeps fractions of a millisecond', async () => {
    const { store } = subject()
    const row = exampleExecution({ tookMs: 0.1 + 0.2 })
    await insertExecutions(store, row)
    expect((await store.executions.get(row.id))?.tookMs).toBe(0.30000000000000004)
  })

  test('refuses a row with a state that does not exist', async () => {
    const { store } = subject()
    const wrong = exampleSession({ state: 'paused' as 'open' })
    await expect(store.transact((tx) => tx.sessions.insert(wrong))).rejects.toThrow(TypeError)
    expect(await store.sessions.get(wrong.id)).toBeUndefined()
  })
}
