/**
 * The one schema that the guest is shown for what several roots enforce: a flat object, because model providers refuse a
 * whole request over a combinator at the top. It may accept more than is enforced, never less; what it cannot say is
 * told in words.
 */
import { canonicalJson } from '@sallyport/protocol'
import { Carrier, type Definitions } from './carry.ts'
import { type Conjunct, conjunctsOf, meansTheSame, type Source, sourceOf } from './conjuncts.ts'
import { type Dialect, isSchemaObject, type SchemaObject } from './dialect.ts'
import { fold } from './fold.ts'
import { bounded } from './problem.ts'

export interface Shown {
  readonly schema: SchemaObject
  /** Sentences for the description, bounded in number and length. */
  readonly told: readonly string[]
}

const toldLimit = 20
const ruleLimit = 300

/** `overlays` are of 2020-12; `fixedNames` are hidden. Never throws for roots that `compileRoot` takes. */
export function shownSchema(
  catalogRoot: unknown,
  overlays: readonly unknown[],
  fixedNames: readonly string[],
): Shown {
  return new Showing(catalogRoot, overlays, fixedNames).run()
}

/** Top-level rules that a flat schema cannot have. */
const toldKeywords = [
  ...['$ref', '$dynamicRef', '$recursiveRef', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'],
  ...['enum', 'const', 'minProperties', 'maxProperties', 'propertyNames', 'patternProperties'],
  ...['additionalProperties', 'unevaluatedProperties'],
  ...['dependentRequired', 'dependentSchemas', 'dependencies'],
]
/** In-place rules, after which what is unevaluated is not what is additional. */
const inPlace = [
  '$ref',
  '$dynamicRef',
  '$recursiveRef',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'dependentSchemas',
]

class Showing {
  readonly #root: Source
  readonly #conjuncts: readonly Conjunct[]
  readonly #fixed: readonly string[]
  readonly #definitions: Definitions = {}
  readonly #carry: ReadonlyMap<Source, (schema: SchemaObject) => SchemaObject | undefined>
  readonly #told: string[] = []

  constructor(catalogRoot: unknown, overlays: readonly unknown[], fixed: readonly string[]) {
    const sources = [catalogRoot, ...overlays].map(sourceOf)
    this.#root = sources[0] as Source
    this.#conjuncts = sources.flatMap(conjunctsOf)
    this.#fixed = fixed
    const carrier = new Carrier(this.#root.document, this.#definitions)
    this.#carry = new Map(sources.map((source) => [source, carrier.from(source)]))
  }

  run(): Shown {
    const closers = this.#conjuncts.filter(isClosed)
    const properties = this.#properties(closers)
    const isOpen = closers.length === 0
    const required = this.#required(properties, isOpen)
    const others = isOpen ? this.#otherProperties() : { additionalProperties: false }
    for (const conjunct of this.#conjuncts) this.#tellRest(conjunct)
    const { $schema, title, description } = this.#root.document
    const schema = {
      ...(typeof $schema === 'string' && { $schema }),
      type: 'object',
      ...(typeof title === 'string' && { title }),
      ...(typeof description === 'string' && { description }),
      properties,
      ...(required.length > 0 && { required }),
      ...others,
      ...this.#definitions,
    }
    return { schema, told: this.#told.slice(0, toldLimit) }
  }

  #properties(closers: readonly Conjunct[]): SchemaObject {
    const properties: SchemaObject = {}
    const names = new Set(this.#conjuncts.flatMap(({ schema }) => Object.keys(members(schema))))
    for (const name of names) {
      if (this.#fixed.includes(name) || name === '__proto__') continue
      if (closers.some(({ schema }) => !Object.hasOwn(members(schema), name))) continue
      const schema = this.#property(name)
      if (schema) properties[name] = schema
      else if (closers.length === 0)
        this.#tell(`Also enforced: ${JSON.stringify(name)} is not allowed.`)
    }
    return properties
  }

  /** Every rule about one property in one schema; false when no value fits. */
  #property(name: string): SchemaObject | false {
    let schema: SchemaObject | undefined
    for (const conjunct of this.#conjuncts) {
      if (!Object.hasOwn(members(conjunct.schema), name)) continue
      const rule = members(conjunct.schema)[name]
      if (rule === false) return false
      if (!isSchemaObject(rule)) continue
      const next = this.#join(schema, rule, conjunct.source, name)
      if (next === false) return false
      schema = next
    }
    return schema ?? {}
  }

  #join(
    base: SchemaObject | undefined,
    rule: SchemaObject,
    source: Source,
    name: string,
  ): SchemaObject | false {
    const carried = this.#carry.get(source)?.(rule)
    const { dialect } = this.#root
    const foldsRest = !source.formatsNegated && meansTheSame(rule, source.dialect, dialect)
    if (carried && !base && foldsRest) return carried
    // draft-07 ignores what stands beside a reference
    const isReference = dialect === 'draft-07' && base?.$ref !== undefined
    const plain = isReference ? { ...annotationsOf(base), allOf: [base] } : (base ?? {})
    const asked = asItCounts(carried ?? rule, source.dialect)
    const { schema, rest } = fold(plain, asked, foldsRest && carried !== undefined)
    if (rest) this.#tellRule(rest, ` for ${JSON.stringify(name)}`)
    return schema
  }

  #required(properties: SchemaObject, isOpen: boolean): string[] {
    const names = new Set(
      this.#conjuncts.flatMap(({ schema }) =>
        Array.isArray(schema.required) ? schema.required : [],
      ),
    )
    const required = [...names].filter(
      (name) => !this.#fixed.includes(name) && name !== '__proto__',
    )
    // Some providers refuse a required property that is not described.
    if (isOpen) for (const name of required) properties[name] ??= {}
    return required.filter((name) => Object.hasOwn(properties, name))
  }

  /** What the catalog says about properties it does not name. */
  #otherProperties(): SchemaObject {
    const [main] = this.#conjuncts
    const { patternProperties, additionalProperties } = main?.schema ?? {}
    const others: SchemaObject = {}
    const carry = this.#carry.get(this.#root)
    const whole = isSchemaObject(patternProperties) ? { properties: patternProperties } : undefined
    const patterns = whole && carry?.(whole)
    if (whole && !patterns) return {}
    if (patterns) others.patternProperties = patterns.properties
    const additional = isSchemaObject(additionalProperties)
      ? carry?.(additionalProperties)
      : additionalProperties
    if (additional !== undefined) others.additionalProperties = additional
    return others
  }

  #tellRest(conjunct: Conjunct): void {
    const { schema, source, expanded } = conjunct
    const isMain = schema === this.#root.document
    const shown = isMain ? ['patternProperties', 'additionalProperties'] : []
    const silent = [...expanded, ...shown, ...(isClosed(conjunct) ? closing : [])]
    const rest = toldKeywords.filter(
      (keyword) => isRule(schema, keyword, source) && !silent.includes(keyword),
    )
    const conditional = rest.filter((keyword) => ['if', 'then', 'else'].includes(keyword))
    if (conditional.length > 0) this.#tellRule(pick(schema, conditional), '')
    for (const keyword of rest)
      if (!conditional.includes(keyword)) this.#tellRule(pick(schema, [keyword]), '')
  }

  #tellRule(rule: SchemaObject, about: string): void {
    this.#tell(`Also enforced${about}: ${bounded(canonicalJson(rule), ruleLimit)}`)
  }

  /** Nothing that names a fixed argument: the guest does not learn of those. */
  #tell(sentence: string): void {
    const isSecret = this.#fixed.some((name) => sentence.includes(JSON.stringify(name)))
    if (!isSecret) this.#told.push(sentence)
  }
}

const closing = ['additionalProperties', 'unevaluatedProperties']

function members(schema: SchemaObject): SchemaObject {
  return isSchemaObject(schema.properties) ? schema.properties : {}
}

/** Does it refuse every property that it does not name? */
function isClosed({ schema, source }: Conjunct): boolean {
  const hasPatterns =
    isSchemaObject(schema.patternProperties) && Object.keys(schema.patternProperties).length > 0
  if (hasPatterns) return false
  if (schema.additionalProperties !== undefined) return schema.additionalProperties === false
  const isPlain = inPlace.every((keyword) => schema[keyword] === undefined)
  return isPlain && source.dialect !== 'draft-07' && schema.unevaluatedProperties === false
}

/** Is it a rule in the dialect, and one that refuses anything? */
function isRule(schema: SchemaObject, keyword: string, { dialect }: Source): boolean {
  const value = schema[keyword]
  if (value === undefined || value === true || canonicalJson(value) === '{}') return false
  const isLater = keyword === 'unevaluatedProperties' || keyword.startsWith('dependent')
  return dialect !== 'draft-07' || !isLater
}

/** In draft-07 a reference silences what stands beside it. */
function asItCounts(rule: SchemaObject, dialect: Dialect): SchemaObject {
  if (dialect !== 'draft-07' || rule.$ref === undefined) return rule
  return { ...annotationsOf(rule), $ref: rule.$ref }
}

function annotationsOf({ title, description }: SchemaObject): SchemaObject {
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
  }
}

function pick(schema: SchemaObject, keywords: readonly string[]): SchemaObject {
  return Object.fromEntries(keywords.map((keyword) => [keyword, schema[keyword]]))
}
