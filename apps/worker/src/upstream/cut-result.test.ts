import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { type Beginning, ResultBeginning } from '../http/result-beginning.ts'
import { formsOfValues } from '../vault/leak-forms.ts'
import { contentBytes, cutResult } from './cut-result.ts'

const write = { access: 'write', executionId: 'exe_1' } as const
const secret = 'tok-9f2c81d4"\u00e9'
const forms = formsOfValues([secret])

/** As a reader gets to know it, in parts of that size. */
function beginningOf(json: string, limit: number, partBytes = 1_000): Beginning | undefined {
  const bytes = Buffer.from(json)
  const beginning = new ResultBeginning(contentBytes(limit, forms))
  for (let at = 0; at < bytes.length; at += partBytes)
    beginning.push(bytes.subarray(at, at + partBytes))
  return beginning.finish()
}

function cut(result: unknown, limit: number, partBytes?: number) {
  const json = typeof result === 'string' ? result : JSON.stringify(result)
  const beginning = beginningOf(json, limit, partBytes)
  const bytes = Buffer.byteLength(json)
  return beginning && cutResult(beginning, { limit, bytes, forms, intent: write })
}

function cutJson(result: unknown, limit: number) {
  const raw = cut(result, limit)
  if (!Buffer.isBuffer(raw)) throw new Error(`not cut: ${raw}`)
  expect(raw.length).toBeLessThanOrEqual(limit)
  return JSON.parse(raw.toString())
}

const text = (of: string) => ({ type: 'text', text: of })

test('the text that was being read when the limit came is cut, and a mark says so', () => {
  const whole = { content: [text('x'.repeat(10_000))], structuredContent: { a: 1 } }
  const { content, ...rest } = cutJson(whole, 4_000)
  expect(rest).toEqual({})
  expect(content).toHaveLength(2)
  expect(content[0].text).toMatch(/^x{2900,3000}$/)
  expect(content[1].text).toBe(
    `[Sallyport cut this result: it has ${JSON.stringify(whole).length} bytes, the limit is 4000, the rest is left out. The call was done. Do not repeat it. Execution: exe_1]`,
  )
})

test('a read may be asked for less', () => {
  const beginning = beginningOf(JSON.stringify({ content: [text('x'.repeat(9_000))] }), 4_000)
  const intent = { access: 'read', executionId: 'exe_1' } as const
  const raw = cutResult(beginning as Beginning, { limit: 4_000, bytes: 9_100, forms, intent })
  expect(raw?.toString()).toContain('To see more, ask for less at a time or for a part.')
})

test('items that are all there stay byte for byte, with what is between them; of others only a text is cut', () => {
  const image = '{ "type":"image", "data":"AAAA\\/", "mimeType":"image\\u002fpng" }'
  const link = '{"type":"resource_link","uri":"x:\\"}]","name":"[{"}'
  const big = `{"type":"image","mimeType":"image/png","data":"${'B'.repeat(9_000)}"}`
  const raw = cut(`{"content" : [${image} ,${link}, ${big}]}`, 3_000)
  expect(raw?.toString().startsWith(`{"content":[${image} ,${link},{"type":"text",`)).toBe(true)
  expect(raw?.toString()).not.toContain('BBB')
})

test.each([
  ['behind the content', (content: string) => `{"content":${content},"isError":true}`],
  ['in front of it', (content: string) => `{"isError": true ,"content":${content}}`],
  ['said twice', (content: string) => `{"isError":false,"content":${content},"isError":true}`],
])('that it was an error is told, %s', (_, write) => {
  const { isError } = cutJson(write(JSON.stringify([text('x'.repeat(9_000))])), 4_000)
  expect(isError).toBe(true)
})

test('a type that 2026-07-28 demands stays, one that does not is not made up', () => {
  const content = [text('x'.repeat(9_000))]
  expect(cutJson({ content, resultType: 'complete' }, 4_000).resultType).toBe('complete')
  expect('resultType' in cutJson({ content }, 4_000)).toBe(false)
})

test.each([
  [
    'content that is far behind',
    { structuredContent: { a: 'x'.repeat(9_000) }, content: [text('a')] },
    2,
  ],
  ['no content', { structuredContent: { a: 'x'.repeat(9_000) } }, 1],
  ['an empty content', { content: [], structuredContent: { a: 'x'.repeat(9_000) } }, 1],
])('%s: what there is of it, and the mark', (_, result, items) => {
  expect(cutJson(result, 4_000).content).toHaveLength(items)
})

test.each([
  ['no object', `["${'x'.repeat(9_000)}"]`],
  ['content that is no list', `{"content":"${'x'.repeat(9_000)}"}`],
  ['items that are no objects', `{"content":["${'x'.repeat(9_000)}"]}`],
  [
    'an item that is no JSON',
    `{"content":[{"type":text},{"type":"text","text":"${'x'.repeat(9_000)}"}]}`,
  ],
  ['a list that is none', `{"content":[{} {}],"a":"${'x'.repeat(9_000)}"}`],
  ['an end that is none', `{"content":[],"a":"${'x'.repeat(9_000)}"`],
])('%s: nothing is made of it', (_, json) => {
  expect(cut(json, 4_000)).toBeUndefined()
})

test('text that is not UTF-8 is not passed on', () => {
  const json = Buffer.concat([
    Buffer.from('{"content":[{"type":"text","text":"'),
    Buffer.alloc(9_000, 0xff),
    Buffer.from('"}]}'),
  ])
  const beginning = new ResultBeginning(4_000)
  beginning.push(json)
  const cutting = { limit: 4_000, bytes: json.length, forms, intent: write }
  const raw = cutResult(beginning.finish() as Beginning, cutting)
  expect(raw?.toString()).not.toContain('\ufffd')
})

test('nor is an item that is not, which is there as a whole', () => {
  const long = `{"type":"text","text":"${'x'.repeat(9_000)}"}`
  const saying = (byte: number) => {
    const json = Buffer.from(`{"content":[{"type":"text","text":"?"},${long}]}`)
    json[json.indexOf('?')] = byte
    const beginning = new ResultBeginning(4_000)
    beginning.push(json)
    const cutting = { limit: 4_000, bytes: json.length, forms, intent: write }
    return cutResult(beginning.finish() as Beginning, cutting)
  }
  expect(saying(0xff)).toBeUndefined()
  expect(Buffer.isBuffer(saying(0x3f))).toBe(true)
})

test.each(['[],', '"",', '"\\\\",', '"\\u00'])(
  'an item of many %s is not read again and again to find a text in it',
  (many) => {
    const parse = vi.spyOn(JSON, 'parse')
    cut(`{"content":[{"text":"a","a":[${many.repeat(3_000)}`, 4_000)
    const { length } = parse.mock.calls
    parse.mockRestore()
    expect(length).toBeLessThanOrEqual(5)
  },
)

test('a limit with no room for a mark cuts nothing', () => {
  expect(cut({ content: [text('x'.repeat(9_000))] }, 100)).toBeUndefined()
})

test('wherever the cut is, it is JSON in UTF-8 within the limit, and a beginning of the text', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.constantFrom('\\', '"', '\\\\"', '\u0000', '\u{1f600}', '\ud83d', 'é'),
  )
  const texts = fc.array(piece, { minLength: 1, maxLength: 200 }).map((all) => all.join(''))
  const escaped = (json: string) =>
    json.replace(
      /[\u0080-\uffff]/g,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
  fc.assert(
    fc.property(
      fc.array(texts, { minLength: 1, maxLength: 5 }),
      fc.boolean(),
      fc.integer({ min: 1_300, max: 4_000 }),
      fc.integer({ min: 1, max: 700 }),
      (all, isEscaped, limit, partBytes) => {
        const plain = JSON.stringify({ content: all.map(text) })
        const raw = cut(isEscaped ? escaped(plain) : plain, limit, partBytes)
        if (!Buffer.isBuffer(raw)) throw new Error(`not cut: ${raw}`)
        expect(raw.length).toBeLessThanOrEqual(limit)
        const { content } = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(raw))
        const passed = content.slice(0, -1).map(({ text: of }: { text: string }) => of)
        for (const [at, one] of passed.entries()) {
          const theirs = (all[at] as string).toWellFormed()
          if (at < passed.length - 1) expect(one.toWellFormed()).toBe(theirs)
          else expect(theirs.startsWith(one.toWellFormed().replace(/\ufffd$/, ''))).toBe(true)
        }
      },
    ),
  )
})

const spelled: readonly (readonly [how: string, json: string])[] = [
  ['as it is', JSON.stringify(secret).slice(1, -1)],
  [
    'in escapes',
    [...secret].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  ],
  ['percent-encoded', encodeURIComponent(secret)],
  ['in base64', Buffer.from(secret).toString('base64')],
]

test.each(spelled)(
  'a secret %s at whatever place around the cut gives nothing of it away',
  (_, json) => {
    const limit = 3_000
    const at = (before: number) =>
      cut(
        `{"content":[{"type":"text","text":"${'x'.repeat(before)}${json}${'y'.repeat(5_000)}"}]}`,
        limit,
      )
    const results = Array.from({ length: 1_500 }, (_, n) => at(1_000 + n))
    const leaks = results.filter((raw) => {
      if (!Buffer.isBuffer(raw)) return false
      const [{ text: of }] = JSON.parse(raw.toString()).content as [{ text: string }]
      return /[^x]/.test(of)
    })
    expect(leaks).toEqual([])
    expect(results[0]).toBe('credential')
    // Far behind the cut it is not passed on, and nothing is withheld for it.
    expect(Buffer.isBuffer(results.at(-1))).toBe(true)
  },
)

const lots = 'y'.repeat(5_000)
test.each([
  ['what may be there beside it', `","annotations":{"a":"${lots}"}}]}`],
  ['another text', `","text":"${lots}"}]}`],
  ['what is no JSON', `",,"${lots}"}]}`],
])('nor does one in escapes with %s behind it', (_, behind) => {
  const [, [, escaped] = []] = spelled
  const at = (before: number) =>
    cut(`{"content":[{"type":"text","text":"${'x'.repeat(before)}${escaped}${behind}`, 3_000)
  const results = Array.from({ length: 400 }, (_, n) => at(1_700 + n))
  const leaks = results.filter((raw) => Buffer.isBuffer(raw) && !/"x+"/.test(raw.toString()))
  expect(leaks.map(String)).toEqual([])
  expect(results[200]).toBe('credential')
  expect(Buffer.isBuffer(results.at(-1))).toBe(true)
})
