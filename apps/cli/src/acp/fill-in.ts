/** A form of an agent, filled in at a prompt, one field after another. What the agent says stands behind a bar of ours. */
import {
  type AskedForm,
  type FormAnswer,
  type FormField,
  type FormValue,
  readAnswer,
  type Wanted,
} from '@sallyport/launcher'
import { shownText } from '../print/shown-text.ts'

export interface Asker {
  show(line: string): void
  /** Undefined when there is no answer, and there will be none. */
  ask(question: string): Promise<string | undefined>
}

export async function fillIn({ message, fields }: AskedForm, asker: Asker): Promise<FormAnswer> {
  asker.show('The agent asks:')
  for (const line of message.split('\n')) show(asker, line)
  const isForm = fields.length > 0
  const agreed = await asker.ask(
    isForm ? 'Answer? What you say goes into the sandbox. [y/N] ' : 'Agree? [y/N] ',
  )
  if (agreed === undefined) return { action: 'cancel' }
  if (!/^y(?:es)?$/i.test(agreed.trim())) return { action: 'decline' }
  const values: [string, FormValue][] = []
  for (const field of fields) {
    const value = await fieldValue(field, asker)
    if (value === undefined) return { action: 'cancel' }
    if (value !== leftOut) values.push([field.key, value])
  }
  return { action: 'accept', content: Object.fromEntries(values) }
}

const leftOut = Symbol('left out')

async function fieldValue(
  { title, description, isRequired, wants }: FormField,
  asker: Asker,
): Promise<FormValue | typeof leftOut | undefined> {
  show(asker, description === '' ? title : `${title}: ${description}`)
  choicesOf(wants).forEach(({ title: name, description: more }, index) => {
    show(asker, `${index + 1}  ${more === '' ? name : `${name}: ${more}`}`)
  })
  for (;;) {
    const line = await asker.ask(`${saidOf(wants)}${isRequired ? '' : ', or nothing'}: `)
    if (line === undefined) return undefined
    if (line.trim() === '' && !isRequired) return leftOut
    const value = line.trim() === '' ? undefined : readAnswer(wants, line)
    if (value !== undefined) return value
    asker.show('That does not fit.')
  }
}

const show = (asker: Asker, text: string): void => asker.show(`| ${shownText(text)}`)

const choicesOf = (wants: Wanted) => ('choices' in wants ? wants.choices : [])

function saidOf(wants: Wanted): string {
  switch (wants.kind) {
    case 'text':
      return `Text${wants.format === '' ? '' : ` (${shownText(wants.format)})`}${range(wants, 'letters')}`
    case 'number':
      return `${wants.isWhole ? 'Whole number' : 'Number'}${range(wants)}`
    case 'yes_or_no':
      return 'y or n'
    case 'one':
      return `One of 1 to ${wants.choices.length}`
    case 'some':
      return `Some of 1 to ${wants.choices.length}, with commas${range(wants, 'of them')}`
    default:
      return wants satisfies never
  }
}

function range({ least, most }: { least: number; most: number }, of = ''): string {
  const from = least > 0 || (of === '' && Number.isFinite(least)) ? [`at least ${least}`] : []
  const to = Number.isFinite(most) ? [`at most ${most}`] : []
  const said = [...from, ...to].join(', ')
  return said === '' ? '' : ` (${said}${of === '' ? '' : ` ${of}`})`
}
