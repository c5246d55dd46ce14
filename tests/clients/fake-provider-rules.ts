/** What the real model providers refuse about tools; one such tool makes them refuse the whole request. */
import type { Json } from './fake-script.ts'

export interface OfferedTool {
  readonly name: string
  readonly schema: unknown
}

export interface ProviderRules {
  readonly nameLimit: number
  readonly refusedAtTop: readonly string[]
  /** Names of properties, at the top level. */
  readonly property: RegExp
}

export const anthropicRules: ProviderRules = {
  nameLimit: 128,
  refusedAtTop: ['oneOf', 'anyOf', 'allOf', '$ref'],
  property: /^[a-zA-Z0-9_.-]{1,64}$/,
}

export const openaiRules: ProviderRules = {
  nameLimit: 64,
  refusedAtTop: ['oneOf', 'anyOf', 'allOf', 'enum', 'not', '$ref'],
  property: /^.+$/,
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
  if (!/^[a-zA-Z0-9_-]+$/.test(tool.name)) return 'name has characters that are not allowed'
  if (tool.name.length > rules.nameLimit) return `name is longer than ${rules.nameLimit}`
  const schema = tool.schema
  if (typeof schema !== 'object' || schema === null) return 'schema is not an object'
  const { type, properties } = schema as { type?: unknown; properties?: Json }
  if (type !== 'object') return "schema must have type 'object' at the top level"
  const refused = rules.refusedAtTop.find((word) => Object.hasOwn(schema, word))
  if (refused) return `schema must not have '${refused}' at the top level`
  const badName = Object.keys(properties ?? {}).find((name) => !rules.property.test(name))
  return badName === undefined ? undefined : `property '${badName}' has a name that is not allowed`
}
