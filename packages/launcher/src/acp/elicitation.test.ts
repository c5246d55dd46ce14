import { expect, test } from 'vitest'
import { readAnswer, readForm, type Wanted } from './elicitation.ts'

const form = (properties: unknown, more: Record<string, unknown> = {}) =>
  readForm({
    mode: 'form',
    message: 'Why?',
    requestedSchema: { type: 'object', properties, ...more },
  })
const wants = (schema: Record<string, unknown>): Wanted | undefined =>
  form({ a: schema })?.fields[0]?.wants

const choice = (value: string, title = value, description = '') => ({ value, title, description })

test('a form is read with everything that the person has to know', () => {
  const name = { type: 'string', title: 'Name', description: 'In full', minLength: 1, maxLength: 9 }
  expect(form({ name, age: { type: 'integer', minimum: 0 } }, { required: ['name'] })).toEqual({
    message: 'Why?',
    fields: [
      {
        key: 'name',
        title: 'Name',
        description: 'In full',
        isRequired: true,
        wants: { kind: 'text', format: '', least: 1, most: 9 },
      },
      {
        key: 'age',
        title: 'age',
        description: '',
        isRequired: false,
        wants: { kind: 'number', isWhole: true, least: 0, most: Infinity },
      },
    ],
  })
  expect(form(undefined)).toEqual({ message: 'Why?', fields: [] })
})

test('choices are read in each of the ways that ACP writes them', () => {
  const values = [choice('a'), choice('b')]
  const titled = [{ const: 'a', title: 'A', description: 'first' }, { const: 'b' }]
  const named = [choice('a', 'A', 'first'), choice('b')]
  expect(wants({ type: 'string', enum: ['a', 'b'] })).toEqual({ kind: 'one', choices: values })
  expect(wants({ type: 'string', oneOf: titled })).toEqual({ kind: 'one', choices: named })
  const some = { kind: 'some', least: 0, most: Infinity }
  const items = { type: 'string', enum: ['a', 'b'] }
  expect(wants({ type: 'array', items })).toEqual({ ...some, choices: values })
  const bounded = { type: 'array', items: { anyOf: titled }, minItems: 1, maxItems: 1 }
  expect(wants(bounded)).toEqual({ ...some, choices: named, least: 1, most: 1 })
})

test.each<[string, unknown]>([
  ['a kind that is not known', { type: 'object' }],
  ['no kind', {}],
  ['no object', 7],
  ['a list without choices', { type: 'array' }],
  ['no choice at all', { type: 'string', enum: [] }],
  ['choices that are no text', { type: 'string', enum: ['a', 7] }],
  ['choices without a value', { type: 'array', items: { anyOf: [{ title: 'A' }] } }],
  ['more choices than anybody reads', { type: 'string', enum: Array(101).fill('a') }],
  ['more words than anybody reads', { type: 'string', description: 'x'.repeat(20_000) }],
])('a form with a field of %s is not read at all', (_, schema) => {
  expect(form({ good: { type: 'boolean' }, bad: schema })).toBeUndefined()
  expect(form({ good: { type: 'boolean' } })).toBeDefined()
})

test('what is no form, or has more fields than anybody reads, is not read', () => {
  const many = (n: number) =>
    Object.fromEntries(Array.from({ length: n }, (_, at) => [`f${at}`, { type: 'boolean' }]))
  expect(form(many(30))?.fields).toHaveLength(30)
  expect(form(many(31))).toBeUndefined()
  const requestedSchema = { properties: {} }
  for (const odd of [
    { mode: 'url', message: 'x', requestedSchema },
    { message: 'x', requestedSchema },
    { mode: 'form', message: 7, requestedSchema },
    { mode: 'form', message: 'x' },
    { mode: 'form', message: 'x', requestedSchema: { properties: [] } },
  ])
    expect(readForm(odd)).toBeUndefined()
})

test.each<[Record<string, unknown>, [string, unknown][]]>([
  [
    { type: 'string', minLength: 2, maxLength: 3 },
    [
      ['ab', 'ab'],
      [' a ', ' a '],
      ['𝄞𝄞𝄞', '𝄞𝄞𝄞'],
      ['a', undefined],
      ['abcd', undefined],
    ],
  ],
  [
    { type: 'integer', minimum: -1, maximum: 2e16 },
    [
      ['-1', -1],
      ['+2 ', 2],
      ['1e3', 1000],
      ['-2', undefined],
      ['1.5', undefined],
      ['9007199254740993', undefined],
    ],
  ],
  [
    { type: 'number' },
    [
      ['1.5', 1.5],
      ['.5', 0.5],
      ['', undefined],
      ['0x10', undefined],
      ['1e999', undefined],
      ['NaN', undefined],
      ['Infinity', undefined],
    ],
  ],
  [
    { type: 'boolean' },
    [
      ['y', true],
      ['No', false],
      ['', undefined],
      ['true', undefined],
    ],
  ],
  [
    { type: 'string', enum: ['x', '3', 'y'] },
    [
      ['1', 'x'],
      ['3', 'y'],
      ['0', undefined],
      ['4', undefined],
      ['x', undefined],
    ],
  ],
  [
    { type: 'array', items: { enum: ['x', 'y', 'z'] }, minItems: 1, maxItems: 2 },
    [
      ['1, 3', ['x', 'z']],
      ['2,2', ['y']],
      ['1,2,3', undefined],
      ['1,9', undefined],
      ['1,', undefined],
    ],
  ],
])('a line is an answer to %j only when it fits', (schema, lines) => {
  const field = wants(schema)
  if (!field) throw new Error('no field')
  for (const [line, value] of lines) expect([line, readAnswer(field, line)]).toEqual([line, value])
})
