/**
 * A form that an agent asks its person to fill in: its own question, or one of an MCP server inside. Nobody answers it but
 * that person. A page to open (`url`) is never shown: what is in the sandbox does not send anybody anywhere.
 */
import { isObject, type Params } from './json-lines.ts'

export interface AskedForm {
  /** The agent's own words, like every text of a field. */
  readonly message: string
  readonly fields: readonly FormField[]
}

export interface FormField {
  readonly key: string
  readonly title: string
  readonly description: string
  readonly isRequired: boolean
  readonly wants: Wanted
}

export type Wanted =
  | {
      readonly kind: 'text'
      readonly format: string
      readonly least: number
      readonly most: number
    }
  | {
      readonly kind: 'number'
      readonly isWhole: boolean
      readonly least: number
      readonly most: number
    }
  | { readonly kind: 'yes_or_no' }
  | { readonly kind: 'one'; readonly choices: readonly Choice[] }
  | {
      readonly kind: 'some'
      readonly choices: readonly Choice[]
      readonly least: number
      readonly most: number
    }

export interface Choice {
  readonly value: string
  readonly title: string
  readonly description: string
}

export type FormValue = string | number | boolean | readonly string[]
export type FormAnswer =
  | { readonly action: 'accept'; readonly content: Readonly<Record<string, FormValue>> }
  /** The person said no. */
  | { readonly action: 'decline' }
  /** Nobody said anything. */
  | { readonly action: 'cancel' }

/** More than these nobody reads at a prompt. */
const fieldsAtMost = 30
const choicesAtMost = 100
const lettersAtMost = 20_000

/** Undefined for what cannot be shown as it is meant: another mode, another kind of field, too much of it. */
export function readForm({ mode, message, requestedSchema }: Params): AskedForm | undefined {
  if (mode !== 'form' || typeof message !== 'string' || !isObject(requestedSchema)) return undefined
  const { properties = {}, required } = requestedSchema
  if (!isObject(properties)) return undefined
  const needed = Array.isArray(required) ? required : []
  const fields = Object.entries(properties).map(([key, schema]): FormField | undefined => {
    const wants = isObject(schema) ? readWanted(schema) : undefined
    if (!wants || !isObject(schema)) return undefined
    const title = textOf(schema['title']) || key
    const description = textOf(schema['description'])
    return { key, title, description, isRequired: needed.includes(key), wants }
  })
  if (fields.length > fieldsAtMost || JSON.stringify([message, fields]).length > lettersAtMost)
    return undefined
  const read = fields.filter((field) => field !== undefined)
  return read.length === fields.length ? { message, fields: read } : undefined
}

function readWanted(schema: Params): Wanted | undefined {
  switch (schema['type']) {
    case 'string':
      return readText(schema)
    case 'number':
    case 'integer': {
      const isWhole = schema['type'] === 'integer'
      return { kind: 'number', isWhole, ...bounds(schema['minimum'], schema['maximum'], -Infinity) }
    }
    case 'boolean':
      return { kind: 'yes_or_no' }
    case 'array': {
      const { items, minItems, maxItems } = schema
      const choices = isObject(items) ? readChoices(items['enum'], items['anyOf']) : undefined
      return choices && { kind: 'some', choices, ...bounds(minItems, maxItems, 0) }
    }
    default:
      return undefined
  }
}

/** Its `pattern` is left to whoever asks: an expression of theirs could take us forever. */
function readText({
  enum: values,
  oneOf,
  format,
  minLength,
  maxLength,
}: Params): Wanted | undefined {
  const isChoice = Array.isArray(values) || Array.isArray(oneOf)
  if (!isChoice) return { kind: 'text', format: textOf(format), ...bounds(minLength, maxLength, 0) }
  const choices = readChoices(values, oneOf)
  return choices && { kind: 'one', choices }
}

function readChoices(values: unknown, titled: unknown): readonly Choice[] | undefined {
  const given: unknown = Array.isArray(values)
    ? values.map((value) => ({ const: value, title: value }))
    : titled
  if (!Array.isArray(given) || given.length === 0 || given.length > choicesAtMost) return undefined
  const choices = given
    .filter(isObject)
    .flatMap(({ const: value, title, description }) =>
      typeof value === 'string'
        ? [{ value, title: textOf(title) || value, description: textOf(description) }]
        : [],
    )
  return choices.length === given.length ? choices : undefined
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const bounds = (least: unknown, most: unknown, lowest: number) => ({
  least: typeof least === 'number' ? least : lowest,
  most: typeof most === 'number' ? most : Infinity,
})

/** What a person's line says for a field; undefined when it says nothing that the field takes. */
export function readAnswer(wants: Wanted, line: string): FormValue | undefined {
  const said = line.trim()
  switch (wants.kind) {
    case 'text': {
      const length = [...line].length
      return length >= wants.least && length <= wants.most ? line : undefined
    }
    case 'number': {
      const value = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(said)
        ? Number(said)
        : Number.NaN
      const fits = value >= wants.least && value <= wants.most && Number.isFinite(value)
      return fits && (!wants.isWhole || Number.isSafeInteger(value)) ? value : undefined
    }
    case 'yes_or_no':
      return /^(?:y|yes)$/i.test(said) ? true : /^(?:n|no)$/i.test(said) ? false : undefined
    case 'one':
      return chosen(wants.choices, said)
    case 'some': {
      const values = new Set(said.split(',').map((one) => chosen(wants.choices, one.trim())))
      const all = [...values].filter((value) => value !== undefined)
      return all.length === values.size && all.length >= wants.least && all.length <= wants.most
        ? all
        : undefined
    }
    default:
      return wants satisfies never
  }
}

/** By its number in the list, from one. */
const chosen = (choices: readonly Choice[], said: string): string | undefined =>
  /^\d{1,3}$/.test(said) ? choices[Number(said) - 1]?.value : undefined
