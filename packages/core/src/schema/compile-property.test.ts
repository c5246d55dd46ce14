/** Compiled roots against a plain reading of 2020-12: random schemas and values must get the same verdict. */
import { canonicalJson } from '@sallyport/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileRoot } from './compile.ts'

type Schema = Record<string, unknown>
interface Verdict {
  readonly valid: boolean
  /** Properties that were evaluated. */
  readonly seen: ReadonlySet<string>
}

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const same = (a: unknown, b: unknown): boolean => canonicalJson(a) === canonicalJson(b)
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
const map = (value: unknown): Schema => (isObject(value) ? value : {})

/** The specification, keyword by keyword, without a thought for speed. */
function judge(schema: unknown, value: unknown, root: Schema): Verdict {
  if (typeof schema === 'boolean') return { valid: schema, seen: new Set() }
  const s = schema as Schema
  const seen = new Set<string>()
  const fits = (part: unknown, of = value): boolean => judge(part, of, root).valid
  const inPlace = (part: unknown): boolean => {
    const verdict = judge(part, value, root)
    if (verdict.valid) for (const key of verdict.seen) seen.add(key)
    return verdict.valid
  }
  const each = (key: string, check: (rule: never) => boolean): boolean =>
    !(key in s) || check(s[key] as never)
  const whole = [
    each('type', (type: string | string[]) => [type].flat().some((name) => isOfType(name, value))),
    each('enum', (values: unknown[]) => values.some((one) => same(one, value))),
    each('const', (one: unknown) => same(one, value)),
    each('allOf', (parts: unknown[]) => parts.map(inPlace).every(Boolean)),
    each('anyOf', (parts: unknown[]) => parts.map(inPlace).some(Boolean)),
    each('oneOf', (parts: unknown[]) => parts.map(inPlace).filter(Boolean).length === 1),
    each('not', (part: unknown) => !fits(part)),
    each('if', (part: unknown) =>
      inPlace(inPlace(part) ? (s['then'] ?? true) : (s['else'] ?? true)),
    ),
    each('$ref', (ref: string) => inPlace(map(root['$defs'])[ref.slice('#/$defs/'.length)])),
  ]
  if (typeof value === 'number')
    whole.push(
      each('minimum', (limit: number) => value >= limit),
      each('exclusiveMaximum', (limit: number) => value < limit),
      each('multipleOf', (of: number) => value % of === 0),
    )
  if (typeof value === 'string')
    whole.push(
      each('maxLength', (limit: number) => [...value].length <= limit),
      each('pattern', (pattern: string) => new RegExp(pattern, 'u').test(value)),
    )
  if (Array.isArray(value)) {
    const first = list(s['prefixItems']).length
    const holds = value.filter((item) => 'contains' in s && fits(s['contains'], item)).length
    whole.push(
      each('prefixItems', (parts: unknown[]) =>
        value.every((item, i) => i >= first || fits(parts[i], item)),
      ),
      each('items', (part: unknown) => value.slice(first).every((item) => fits(part, item))),
      each('contains', () => holds >= ((s['minContains'] as number) ?? 1)),
      each('contains', () => holds <= ((s['maxContains'] as number) ?? holds)),
      each(
        'uniqueItems',
        (unique: boolean) => !unique || new Set(value.map(canonicalJson)).size === value.length,
      ),
      each('maxItems', (limit: number) => value.length <= limit),
    )
  }
  if (isObject(value)) {
    const keys = Object.keys(value)
    const named = keys.filter((key) => Object.hasOwn(map(s['properties']), key))
    const patterns = Object.entries(map(s['patternProperties']))
    const matched = keys.filter((key) =>
      patterns.some(([pattern]) => new RegExp(pattern, 'u').test(key)),
    )
    const others = keys.filter((key) => !named.includes(key) && !matched.includes(key))
    whole.push(
      each('required', (names: string[]) => names.every((name) => keys.includes(name))),
      each('minProperties', (limit: number) => keys.length >= limit),
      each('propertyNames', (part: unknown) => keys.every((key) => fits(part, key))),
      each('properties', (parts: Schema) => named.every((key) => fits(parts[key], value[key]))),
      patterns.every(([pattern, part]) =>
        keys.every((key) => !new RegExp(pattern, 'u').test(key) || fits(part, value[key])),
      ),
      each('additionalProperties', (part: unknown) =>
        others.every((key) => fits(part, value[key])),
      ),
      each('dependentRequired', (needs: Record<string, string[]>) =>
        Object.entries(needs).every(
          ([key, names]) => !keys.includes(key) || names.every((name) => keys.includes(name)),
        ),
      ),
      each('dependentSchemas', (parts: Schema) =>
        Object.entries(parts).every(([key, part]) => !keys.includes(key) || inPlace(part)),
      ),
    )
    for (const key of [...named, ...matched, ...('additionalProperties' in s ? others : [])])
      seen.add(key)
    const rest = keys.filter((key) => !seen.has(key))
    whole.push(
      each('unevaluatedProperties', (part: unknown) => rest.every((key) => fits(part, value[key]))),
    )
    if ('unevaluatedProperties' in s) for (const key of keys) seen.add(key)
  }
  return { valid: whole.every(Boolean), seen }
}

function isOfType(name: string, value: unknown): boolean {
  if (name === 'null') return value === null
  if (name === 'array') return Array.isArray(value)
  if (name === 'object') return isObject(value)
  if (name === 'integer') return Number.isInteger(value)
  const type: string = typeof value
  return type === name
}

const name = fc.constantFrom('a', 'b', 'x1', 'constructor')
const members = <T>(value: fc.Arbitrary<T>) =>
  fc.dictionary(name, value, { maxKeys: 3, noNullPrototype: true })
const leaf = fc.constantFrom<unknown>(0, 1, 2, 1.5, 'x', 'xyz', '😀', '', true, null)

const someValue = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    { weight: 2, arbitrary: leaf },
    { weight: 1, arbitrary: fc.array(tie('value'), { maxLength: 3 }) },
    { weight: 3, arbitrary: members(tie('value')) },
  ),
})).value

const someSchema = fc.letrec<{ schema: unknown; object: Schema }>((tie) => {
  const inner = tie('schema')
  const some = fc.array(inner, { minLength: 1, maxLength: 3 })
  const one = <T>(keyword: string, rule: fc.Arbitrary<T>): fc.Arbitrary<Schema> =>
    rule.map((value) => JSON.parse(JSON.stringify({ [keyword]: value })))
  const small = fc.integer({ min: 0, max: 3 })
  const scalar = fc.oneof(
    one(
      'type',
      fc.subarray(['integer', 'number', 'string', 'object', 'array', 'boolean', 'null'], {
        minLength: 2,
      }),
    ),
    one('type', fc.constantFrom('object', 'array', 'integer')),
    one('enum', fc.uniqueArray(leaf, { minLength: 1, selector: (item) => JSON.stringify(item) })),
    one('const', leaf),
    one('minimum', small),
    one('exclusiveMaximum', small),
    one('multipleOf', fc.constantFrom(1, 2, 0.5)),
    one('maxLength', small),
    one('pattern', fc.constantFrom('^x', '^.$', '\\d')),
    one('maxItems', small),
    one('uniqueItems', fc.constant(true)),
    one('minProperties', small),
    one('required', fc.uniqueArray(name, { maxLength: 2 })),
    one('dependentRequired', fc.constant({ a: ['b'] })),
  )
  const compound = fc.oneof(
    one('allOf', some),
    one('anyOf', some),
    one('oneOf', some),
    one('not', inner),
    fc
      .tuple(one('if', inner), one('then', inner), one('else', inner))
      .map(([a, b, c]) => ({ ...a, ...b, ...c })),
    fc.tuple(one('if', inner), one('else', inner)).map(([a, b]) => ({ ...a, ...b })),
    one('properties', members(inner)),
    one('properties', members(inner)),
    one('patternProperties', fc.record({ '^x': inner })),
    one('additionalProperties', inner),
    one('unevaluatedProperties', fc.oneof(fc.constant(false), inner)),
    one('propertyNames', inner),
    one('dependentSchemas', fc.record({ b: inner })),
    one('items', inner),
    one('prefixItems', some),
    fc
      .tuple(
        one('contains', inner),
        fc.record({ minContains: small, maxContains: small }, { requiredKeys: [] }),
      )
      .map(([a, b]) => ({ ...a, ...b })),
    one('$ref', fc.constantFrom('#/$defs/p', '#/$defs/q')),
  )
  return {
    schema: fc.oneof(
      { maxDepth: 4, depthSize: 'small', withCrossShrink: true },
      { weight: 3, arbitrary: scalar },
      { weight: 1, arbitrary: fc.boolean() },
      { weight: 6, arbitrary: tie('object') },
    ),
    object: fc
      .array(fc.oneof(scalar, compound, compound), { minLength: 1, maxLength: 3 })
      .map((parts) => Object.assign({}, ...parts)),
  }
})

const someRoot = fc
  .tuple(someSchema.object, someSchema.object, someSchema.schema)
  .map(([root, p, q]): Schema => ({ ...root, $defs: { p, q } }))

test('a compiled root and the specification agree', () => {
  const verdicts = { accepted: 0, refused: 0 }
  fc.assert(
    fc.property(someRoot, fc.array(someValue, { minLength: 20, maxLength: 20 }), (root, values) => {
      let expected: boolean[]
      let compiled: ReturnType<typeof compileRoot>
      try {
        compiled = compileRoot(root, 'catalog')
        expected = values.map((value) => judge(root, value, root).valid)
      } catch {
        return // references in circles
      }
      for (const [i, value] of values.entries()) {
        const accepted = compiled.check(value) === undefined
        expect([value, accepted]).toEqual([value, expected[i]])
        verdicts[accepted ? 'accepted' : 'refused']++
      }
    }),
    { numRuns: 600 },
  )
  expect(verdicts.accepted).toBeGreaterThan(1000)
  expect(verdicts.refused).toBeGreaterThan(1000)
}, 60_000)
