import type { AskedForm, FormField, Wanted } from '@sallyport/launcher'
import { expect, test } from 'vitest'
import { fillIn } from './fill-in.ts'

const field = (key: string, wants: Wanted, more: Partial<FormField> = {}): FormField => ({
  key,
  title: key,
  description: '',
  isRequired: false,
  wants,
  ...more,
})
const text: Wanted = { kind: 'text', format: '', least: 0, most: Infinity }
const choices = ['red', 'blue'].map((value) => ({ value, title: value, description: '' }))

/** The person says these lines, and then nothing more. */
async function filled(form: AskedForm, ...lines: readonly string[]) {
  const rest = [...lines]
  const shown: string[] = []
  const asker = {
    show: (line: string) => void shown.push(line),
    ask: async (question: string) => {
      const line = rest.shift()
      shown.push(`${question}${line ?? '(gone)'}`)
      return line
    },
  }
  return { answer: await fillIn(form, asker), shown, rest }
}

test('each field is asked for, and asked again until the line fits', async () => {
  const form = {
    message: 'What?\nAnd how?',
    fields: [
      field('name', { ...text, format: 'email', most: 20 }, { isRequired: true }),
      field('many', { kind: 'number', isWhole: true, least: 0, most: 3 }),
      field('sure', { kind: 'yes_or_no' }, { description: 'Really' }),
      field('one', { kind: 'one', choices }),
      field('some', { kind: 'some', choices, least: 0, most: Infinity }),
    ],
  }
  const lines = ['y', '', 'a@b.test', '7', '2', 'y', '2', '1,2']
  const { answer, shown, rest } = await filled(form, ...lines)
  const content = { name: 'a@b.test', many: 2, sure: true, one: 'blue', some: ['red', 'blue'] }
  expect(answer).toEqual({ action: 'accept', content })
  expect(rest).toEqual([])
  expect(shown).toEqual([
    'The agent asks:',
    '| What?',
    '| And how?',
    'Answer? What you say goes into the sandbox. [y/N] y',
    '| name',
    'Text (email) (at most 20 letters): ',
    'That does not fit.',
    'Text (email) (at most 20 letters): a@b.test',
    '| many',
    'Whole number (at least 0, at most 3), or nothing: 7',
    'That does not fit.',
    'Whole number (at least 0, at most 3), or nothing: 2',
    '| sure: Really',
    'y or n, or nothing: y',
    '| one',
    '| 1  red',
    '| 2  blue',
    'One of 1 to 2, or nothing: 2',
    '| some',
    '| 1  red',
    '| 2  blue',
    'Some of 1 to 2, with commas, or nothing: 1,2',
  ])
})

test('what is left out is left out, also where it has a name like a part of an object', async () => {
  const form = { message: 'x', fields: [field('a', text), field('__proto__', text)] }
  const { answer } = await filled(form, 'yes', '', 'b')
  expect(JSON.stringify(answer)).toBe('{"action":"accept","content":{"__proto__":"b"}}')
})

test.each([
  ['', 'decline'],
  ['n', 'decline'],
  ['why', 'decline'],
  [undefined, 'cancel'],
])('a person who says %j first answers nothing', async (line, action) => {
  const fields = [field('a', text)]
  expect(
    (await filled({ message: 'x', fields }, ...(line === undefined ? [] : [line]))).answer,
  ).toEqual({ action })
})

test('a person who leaves in the middle answers nothing', async () => {
  const form = { message: 'x', fields: [field('a', text), field('b', text)] }
  expect((await filled(form, 'y', 'one')).answer).toEqual({ action: 'cancel' })
})

test('a form without fields is a question of yes or no', async () => {
  const { answer, shown } = await filled({ message: 'Go on?', fields: [] }, 'y')
  expect(answer).toEqual({ action: 'accept', content: {} })
  expect(shown.at(-1)).toBe('Agree? [y/N] y')
  expect((await filled({ message: 'Go on?', fields: [] }, '')).answer).toEqual({
    action: 'decline',
  })
})

test('nothing that the agent says moves the cursor, or stands without our bar before it', async () => {
  const evil = 'x\u001b[2J\r\u202e\nAllow? [y/N] y\u0007'
  const wants: Wanted = { kind: 'one', choices: [{ value: 'v', title: evil, description: evil }] }
  const form = { message: evil, fields: [field('k', wants, { title: evil, description: evil })] }
  const { shown } = await filled(form, 'y', '1')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
  expect(shown.join('')).not.toMatch(/[\u0000-\u001f\u202e]/)
  const ours =
    /^(?:The agent asks:|Answer\? What you say goes into the sandbox\. \[y\/N\] y|One of 1 to 1, or nothing: 1)$/
  expect(shown.filter((line) => !line.startsWith('| ') && !ours.test(line))).toEqual([])
})
