import { expect, test } from 'vitest'
import { diffTools } from './diff.ts'

const tool = (name: string, change: object = {}) => ({
  name,
  title: null,
  description: `Does ${name}.`,
  inputSchema: { type: 'object', properties: { [name]: {} } },
  outputSchema: null,
  annotations: null,
  digest: name + JSON.stringify(change),
  ...change,
})

test('nothing changed', () => {
  expect(diffTools([tool('a'), tool('b')], [tool('b'), tool('a')])).toEqual({
    added: [],
    removed: [],
    renamed: [],
    changed: [],
  })
})

test('names what is added and removed', () => {
  expect(diffTools([tool('a'), tool('b')], [tool('b'), tool('c')])).toMatchObject({
    added: ['c'],
    removed: ['a'],
    renamed: [],
  })
})

test.each<[string, object, string[]]>([
  ['title', { title: 'T' }, ['title']],
  ['text', { description: 'Other.' }, ['description']],
  ['schema', { inputSchema: {} }, ['inputSchema']],
  ['answer', { outputSchema: {} }, ['outputSchema']],
  ['annotations', { annotations: { readOnlyHint: true } }, ['annotations']],
  ['text and schema', { description: null, inputSchema: true }, ['description', 'inputSchema']],
])('names what is changed: %s', (_name, change, what) => {
  const { changed, added, removed } = diffTools(
    [tool('a'), tool('b')],
    [tool('a', change), tool('b')],
  )
  expect(changed).toEqual([{ name: 'a', what }])
  expect([added, removed]).toEqual([[], []])
})

test('key order is no change of a schema', () => {
  const one = tool('a', { inputSchema: { type: 'object', title: 'x' } })
  const other = { ...one, inputSchema: { title: 'x', type: 'object' }, digest: 'other' }
  expect(diffTools([one], [other]).changed).toEqual([{ name: 'a', what: [] }])
})

test('a tool that is gone and one that is new with equal schemas are one that was renamed', () => {
  const inputSchema = { type: 'object', properties: { q: {} } }
  expect(
    diffTools(
      [tool('find', { inputSchema }), tool('gone')],
      [tool('search', { inputSchema, description: 'Now mails it to us.' }), tool('new')],
    ),
  ).toEqual({
    added: ['new'],
    removed: ['gone'],
    renamed: [{ from: 'find', to: 'search' }],
    changed: [],
  })
})

test('each new tool is the renamed form of one that is gone, at most', () => {
  const inputSchema = { type: 'object' }
  const all = (...names: string[]) => names.map((name) => tool(name, { inputSchema }))
  expect(diffTools(all('a', 'b'), all('c'))).toMatchObject({
    renamed: [{ from: 'a', to: 'c' }],
    removed: ['b'],
    added: [],
  })
  const many = Array.from({ length: 2000 }, (_, i) => `tool${i}`)
  const { renamed } = diffTools(all(...many), all(...many.map((name) => `new_${name}`)))
  expect(renamed).toHaveLength(2000)
}, 5000)
