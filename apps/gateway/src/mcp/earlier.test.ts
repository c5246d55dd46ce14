import type { CallOutcome } from '@sallyport/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { markedResult } from './earlier.ts'

const earlier = { finishedAt: 1_800_000_000_000 }
const text =
  'This is the outcome of an identical earlier call, which ended at 2027-01-15T08:00:00.000Z. Nothing was sent now.\nExecution: exe_1'
const note = JSON.stringify({ type: 'text', text })

function marked(result: string | Buffer): Buffer {
  const outcome = { kind: 'result', executionId: 'exe_1', result: Buffer.from(result) } as unknown
  return markedResult(outcome as Extract<CallOutcome, { kind: 'result' }>, earlier)
}

test.each([
  ['{"content":[1],"isError":true}', `{"content":[1,${note}],"isError":true}`],
  [
    '{"n":1.0,"content" : [ {"text":"]}"} ]\n, "big":12345678901234567890}',
    `{"n":1.0,"content" : [ {"text":"]}"} ,${note}]\n, "big":12345678901234567890}`,
  ],
  ['{"content":[]}', `{"content":[${note}]}`],
  ['{"content":[ \n ]}', `{"content":[ \n ${note}]}`],
  ['{"c\\u006fntent":[1]}', `{"c\\u006fntent":[1,${note}]}`],
  ['{"content":[1],"content":[2]}', `{"content":[1],"content":[2,${note}]}`],
  ['{"a":{"content":[1]},"content":[]}', `{"a":{"content":[1]},"content":[${note}]}`],
  ['{"a":"\\"content\\":[","content":[]}', `{"a":"\\"content\\":[","content":[${note}]}`],
])('adds one block at the end of the content of %s and nothing else', (result, expected) => {
  expect(marked(result).toString()).toBe(expected)
})

test('leaves bytes that are no text as they are', () => {
  const bytes = (end: string) =>
    Buffer.concat([Buffer.from('{"é":"'), Buffer.from([0xff, 0xc3]), Buffer.from(end)])
  expect(marked(bytes('","content":["😀"]}'))).toEqual(bytes(`","content":["😀",${note}]}`))
})

test.each([
  ['{}', `{"content":[${note}]}`],
  [
    ' {"structuredContent":{"content":[]}}',
    ` {"content":[${note}],"structuredContent":{"content":[]}}`,
  ],
  ['{"content":null,"a":1}', `{"content":[{"type":"text","text":"null"},${note}],"a":1}`],
  ['{"content":"é"}', `{"content":[{"type":"text","text":"\\"é\\""},${note}]}`],
  ['{"content":{"a":1}}', `{"content":[{"type":"text","text":"{\\"a\\":1}"},${note}]}`],
  ['["é"]', `{"content":[{"type":"text","text":"[\\"é\\"]"},${note}]}`],
  ['7', `{"content":[{"type":"text","text":"7"},${note}]}`],
])('gives %s a content that has the block', (result, expected) => {
  expect(marked(result).toString()).toBe(expected)
})

test('an earlier outcome that is no JSON brings nothing down', () => {
  for (const broken of ['{"content":[', '{"content"', '{x}', ''])
    expect(() => marked(broken)).not.toThrow()
})

test('any result is what it was, with one block more', () => {
  const json = fc.jsonValue()
  const result = fc.record({ content: fc.array(json), other: json, key: fc.string(), _meta: json })
  const property = fc.property(result, fc.boolean(), ({ content, other, key, _meta }, first) => {
    const rest = { [key]: other, _meta }
    const whole = first ? { content, ...rest } : { ...rest, content }
    const before = JSON.stringify(whole)
    const after = marked(before).toString()
    const parsed = JSON.parse(before)
    if (!Array.isArray(parsed.content)) return
    const blocks = parsed.content.push({ type: 'text', text })
    expect(JSON.parse(after)).toEqual(parsed)
    expect(after.length - before.length).toBe(note.length + (blocks > 1 ? 1 : 0))
  })
  fc.assert(property, { numRuns: 500 })
})
