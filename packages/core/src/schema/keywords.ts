/** Keywords of ajv that are done again: a guest could make them slow, or slip past them. */
import { canonicalJson } from '@sallyport/protocol'
import { _, type Ajv, type CodeKeywordDefinition, type KeywordCxt, Name } from 'ajv'
import { isMultiple } from './multiple.ts'
import { spendReference } from './work.ts'

export function replaceKeywords(ajv: Ajv): void {
  before(ajv, '$ref', ({ gen }) => {
    const spend = gen.scopeValue('func', { ref: spendReference, code: _`spendReference` })
    gen.code(_`${spend}()`)
  })
  before(ajv, 'unevaluatedProperties', forgetInherited)
  for (const keyword of ['anyOf', 'oneOf', 'dependentSchemas', 'patternProperties'])
    before(ajv, keyword, beginEvaluated)
  before(ajv, 'contains', refuseEmpty)
  instead(ajv, 'enum', (cxt) => test(cxt, enumTest(cxt.schema)))
  instead(ajv, 'uniqueItems', (cxt) => cxt.schema && test(cxt, areUnique))
  instead(ajv, 'multipleOf', (cxt) => test(cxt, (value: number) => isMultiple(value, cxt.schema)))
}

type Code = CodeKeywordDefinition['code']

/** Changes the keyword where it is, because the order of keywords has a meaning in ajv. */
function change(
  ajv: Ajv,
  keyword: string,
  to: (old: Code) => Partial<CodeKeywordDefinition>,
): void {
  const rule = ajv.RULES.all[keyword]
  if (typeof rule !== 'object' || !('code' in rule.definition)) return
  Object.assign(rule, { definition: { ...rule.definition, ...to(rule.definition.code) } })
}

function before(ajv: Ajv, keyword: string, first: (cxt: KeywordCxt) => void): void {
  change(ajv, keyword, (code) => ({
    code: (cxt, type) => {
      first(cxt)
      code(cxt, type)
    },
  }))
}

function instead(ajv: Ajv, keyword: string, code: (cxt: KeywordCxt) => void): void {
  change(ajv, keyword, () => ({ code, error: { message: keyword } }))
}

function test(cxt: KeywordCxt, accepts: (value: never) => boolean): void {
  const accept = cxt.gen.scopeValue('keyword', { ref: accepts })
  cxt.fail(_`!${accept}(${cxt.data})`)
}

/** ajv remembers in a plain object what was evaluated: a property named `constructor` counts as remembered. */
function forgetInherited({ gen, it: { props } }: KeywordCxt): void {
  if (props instanceof Name)
    gen.if(_`${props} && ${props} !== true`, () =>
      gen.assign(props, _`Object.assign(Object.create(null), ${props})`),
    )
}

/**
 * ajv makes the record of evaluated properties in the branch that first needs one: what a branch wrote there counts
 * although the branch fails, and in a loop what the one before wrote. So it is made before there are branches.
 */
function beginEvaluated({ gen, it }: KeywordCxt): void {
  const { props, opts } = it
  if (!opts.unevaluated || props === true) return
  if (props instanceof Name) {
    gen.assign(props, _`${props} || {}`)
    return
  }
  const record = gen.var('props', _`{}`)
  for (const name of Object.keys(props ?? {})) gen.assign(_`${record}[${name}]`, true)
  it.props = record
}

/** ajv leaves its verdict as it was when there is no item, and in a loop that is the verdict about the one before. */
function refuseEmpty(cxt: KeywordCxt): void {
  const min = cxt.it.opts.next ? (cxt.parentSchema['minContains'] ?? 1) : 1
  if (min < 1) return
  cxt.setParams({ min })
  cxt.fail(_`${cxt.data}.length === 0`)
}

/** Looked up, not compared one by one: lists of values are long, and so can be the array of the guest. */
function enumTest(values: readonly unknown[]): (value: unknown) => boolean {
  const isScalar = (value: unknown): boolean => typeof value !== 'object' || value === null
  const scalars = new Set(values.filter(isScalar))
  const others = new Set(values.filter((value) => !isScalar(value)).map(canonicalJson))
  return (value) =>
    isScalar(value) ? scalars.has(value) : others.size > 0 && others.has(canonicalJson(value))
}

/** In time linear in the array, where comparing each with each is not. */
function areUnique(items: readonly unknown[]): boolean {
  return new Set(items.map(canonicalJson)).size === items.length
}
