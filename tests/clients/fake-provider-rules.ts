/** What the real model providers refuse about tools; one such tool makes them refuse the whole request. */
import type { Json } from './fake-script.ts'

export interface OfferedTool {
  readonly name: string
  readonly schema: unknown
}

export interface ProviderRules {
  readonly name: RegExp
  readonly nameLimit: number
  readonly refusedAtTop: readonly string[]
  /** Names of properties, at the top level. */
  readonly property: RegExp
  /** A `$ref` must lead to something within the schema. */
  readonly refsAreFollowed: boolean
}

export const anthropicRules: ProviderRules = {
  name: /^[a-zA-Z0-9_-]+$/,
  nameLimit: 128,
  refusedAtTop: ['oneOf', 'anyOf', 'allOf', '$ref'],
  property: /^[a-zA-Z0-9_.-]{1,64}$/,
  refsAreFollowed: false,
}

export const openaiRules: ProviderRules = {
  name: /^[a-zA-Z0-9_-]+$/,
  nameLimit: 64,
  refusedAtTop: ['oneOf', 'anyOf', 'allOf', 'enum', 'not', '$ref'],
  property: /^.+$/,
  refsAreFollowed: false,
}

/** Of `parametersJsonSchema`. */
export const geminiRules: ProviderRules = {
  name: /^[a-zA-Z_][a-zA-Z0-9_.:-]*$/,
  nameLimit: 64,
  refusedAtTop: [],
  property: /^.+$/,
  refsAreFollowed: true,
}

/** The sentence of the refusal, or undefined when every tool is acceptable. */
export function refusalOf(tools: readonly OfferedTool[], rules: ProviderRules): string | undefined {
  const seen = new Set<string>()
  for (const tool of tools) {
    const problem = seen.has(tool.name) ? 'name is not unique' : problemOf(tool, rules)
    if (problem) return `tool ${tool.name}: ${problem}`
    seen.add(tool.name)
  }
  return undefined
}

function problemOf(tool: OfferedTool, rules: ProviderRules): string | undefined {
  if (!rules.name.test(tool.name)) return 'name has characters that are not allowed'
  if (tool.name.length > rules.nameLimit) return `name is longer than ${rules.nameLimit}`
  const schema = tool.schema
  if (typeof schema !== 'object' || schema === null) return 'schema is not an object'
  const { type, properties } = schema as { type?: unknown; properties?: Json }
  if (type !== 'object') return "schema must have type 'object' at the top level"
  const refused = rules.refusedAtTop.find((word) => Object.hasOwn(schema, word))
  if (refused) return `schema must not have '${refused}' at the top level`
  const badName = Object.keys(properties ?? {}).find((name) => !rules.property.test(name))
  if (badName !== undefined) return `property '${badName}' has a name that is not allowed`
  const lost = rules.refsAreFollowed ? findLostRef(schema) : undefined
  return lost === undefined ? undefined : `reference to undefined schema ${lost}`
}

function findLostRef(schema: object): string | undefined {
  let lost: string | undefined
  JSON.stringify(schema, (key, value: unknown) => {
    if (key === '$ref' && typeof value === 'string' && !leadsSomewhere(schema, value))
      lost ??= value
    return value
  })
  return lost
}

function leadsSomewhere(schema: object, ref: string): boolean {
  if (!ref.startsWith('#')) return false
  const steps = ref.slice(1).split('/').slice(1)
  const end = steps.reduce<unknown>((at, step) => (at as Json | undefined)?.[step], schema)
  return end !== undefined
}
