/** Schemas as real servers list them (scripts/collect-tool-schemas.ts): each enforced in its own dialect. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { argumentRules, checkFixed, effectiveArguments } from './arguments.ts'
import { SchemaCache } from './cache.ts'
import { compileRoot } from './compile.ts'
import { dialectOf, isSchemaObject, type SchemaObject } from './dialect.ts'
import { referenceSteps, valueAt } from './pointer.ts'
import { shownSchema } from './shown.ts'

interface Listed {
  readonly server: string
  readonly version: string
  readonly tools: readonly {
    readonly name: string
    readonly inputSchema: SchemaObject
    readonly outputSchema?: SchemaObject
  }[]
}

const servers: Listed[] = JSON.parse(
  readFileSync(new URL('./real-tools.fixture.json', import.meta.url), 'utf8'),
)
const tools = servers.flatMap(({ server, tools }) =>
  tools.map((tool) => [`${server} ${tool.name}`, tool.inputSchema] as const),
)
const outputs = servers.flatMap(({ server, tools }) =>
  tools.flatMap(({ name, outputSchema }) =>
    outputSchema ? [[`${server} ${name}`, outputSchema] as const] : [],
  ),
)

/** A smallest value that fits: what is required, and the first of several forms. */
function smallest(schema: unknown, root: unknown): unknown {
  if (!isSchemaObject(schema)) return 'anything'
  const {
    $ref,
    allOf,
    anyOf,
    oneOf,
    type,
    properties,
    required,
    items,
    minItems,
    minLength,
    minimum,
  } = schema
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  if (typeof $ref === 'string') return smallest(valueAt(root, referenceSteps($ref) ?? []), root)
  const forms = [allOf, anyOf, oneOf].find(Array.isArray)
  if (forms && properties === undefined) return smallest(forms[0], root)
  switch ([type].flat()[0]) {
    case 'array':
      return Array.from({ length: Number(minItems ?? 0) }, () => smallest(items, root))
    case 'string':
      return schema.format === 'uri' ? 'https://example.com/' : 'x'.repeat(Number(minLength ?? 1))
    case 'integer':
    case 'number':
      return Number(minimum ?? schema['exclusiveMinimum'] ?? 0) + 1
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return Object.fromEntries(
        [required ?? []]
          .flat()
          .map((name) => [name, smallest(valueAt(properties, [String(name)]), root)]),
      )
  }
}

/** A value of another type. */
const wrongFor = (type: unknown): unknown =>
  ['integer', 'number'].includes(String(type)) ? { wrong: true } : 7

test('they are of seven servers and both usual dialects', () => {
  expect(servers.map(({ server, tools }) => [server, tools.length])).toEqual([
    ['@modelcontextprotocol/server-everything', 13],
    ['@modelcontextprotocol/server-filesystem', 14],
    ['@modelcontextprotocol/server-memory', 9],
    ['@modelcontextprotocol/server-sequential-thinking', 1],
    ['@playwright/mcp', 25],
    ['@upstash/context7-mcp', 2],
    ['@notionhq/notion-mcp-server', 24],
  ])
  expect(new Set(tools.map(([, schema]) => dialectOf(schema)))).toEqual(
    new Set(['draft-07', '2020-12']),
  )
})

test.each([...tools, ...outputs])('%s is enforced', (_name, schema) => {
  const root = compileRoot(schema, 'catalog')
  const value = smallest(schema, schema)
  expect(root.check(value)).toBeUndefined()
  expect(root.check(7)).toEqual({ path: '', detail: 'must be object' })
  if (!isSchemaObject(schema.properties) || !isSchemaObject(value)) return
  for (const name of [schema.required ?? []].flat()) {
    const { [String(name)]: _gone, ...without } = value
    expect(root.check(without)).toEqual({ path: `/${name}`, detail: 'is required' })
  }
})

const typed = tools.flatMap(([name, schema]) =>
  Object.entries(isSchemaObject(schema.properties) ? schema.properties : {})
    .filter(([, property]) => isSchemaObject(property) && typeof property.type === 'string')
    .map(([property]) => [`${name} ${property}`, property, schema] as const),
)

test.each(typed)('%s refuses a wrong type', (_name, property, schema) => {
  const value = smallest(schema, schema) as SchemaObject
  const type = valueAt(schema.properties, [property, 'type'])
  const found = compileRoot(schema, 'catalog').check({ ...value, [property]: wrongFor(type) })
  expect(found?.path.startsWith(`/${property}`)).toBe(true)
  expect(found?.detail).not.toBe('')
})

test.each(tools)('%s is shown flat, and accepts what is enforced', (_name, schema) => {
  const { schema: shown, told } = shownSchema(schema, [], [])
  for (const keyword of ['allOf', 'anyOf', 'oneOf', 'not', 'if', '$ref', 'enum', 'const'])
    expect(shown).not.toHaveProperty([keyword])
  expect(shown.type).toBe('object')
  expect(told).toEqual([])
  expect(compileRoot(shown, 'catalog').check(smallest(schema, schema))).toBeUndefined()
  expect(Object.keys(shown.properties as SchemaObject)).toEqual(
    Object.keys(schema.properties ?? {}),
  )
})

const schemas = new SchemaCache()
const limited = tools.flatMap(([name, schema]) => {
  const [first] = [schema.required ?? []].flat().map(String)
  return first === undefined ? [] : [[name, first, schema] as const]
})

test.each(limited)('%s takes %s by limit and fixed', (_name, first, schema) => {
  const value = smallest(schema, schema) as SchemaObject
  const overlays = [{ properties: { [first]: { const: value[first] } } }]
  const call = (fixed: SchemaObject, args: unknown) => {
    const rules = argumentRules({ catalogRoot: schema, overlays, fixed }, schemas)
    return effectiveArguments({ argumentsText: JSON.stringify(args), ...rules })
  }
  const { schema: shown } = shownSchema(schema, overlays, [])
  expect(shown.properties).toMatchObject({ [first]: { const: value[first] } })
  expect(call({}, value)).toMatchObject({ ok: true })
  expect(call({}, { ...value, [first]: wrongFor(typeof value[first]) })).toMatchObject({
    code: 'arguments_refused',
    field: `/${first}`,
  })
  const { [first]: fixed, ...rest } = value
  expect(() => checkFixed(schema, { [first]: fixed }, overlays)).not.toThrow()
  const answer = call({ [first]: fixed }, rest)
  expect(answer.ok && JSON.parse(answer.text)).toEqual(value)
  expect(call({ [first]: fixed }, value)).toMatchObject({
    field: `/${first}`,
    detail: 'is not known',
  })
  expect(shownSchema(schema, overlays, [first]).schema.properties).not.toHaveProperty([first])
})
