/** Keywords of ajv that are done again: a guest could make them slow, or slip past them. */
import { canonicalJson } from '@sallyport/protocol'
import { _, type Ajv, type CodeKeywordDefinition, type KeywordCxt, Name } from 'ajv'
import { isMultiple } from './multiple.ts'
import { spendReference } from './work.ts'

export function replaceKeywords(ajv: Ajv): void {
  for (const keyword of ['$ref', '$dynamicRef', '$recursiveRef'])
    wrap(ajv, keyword, (cxt) => {
      const spend = cxt.gen.scopeValue('func', { ref: spendReference, code: _`spendReference` })
      cxt.gen.code(_`${spend}()`)
    })
  wrap(ajv, 'unevaluatedProperties', forgetInherited)
  replace(ajv, {
    keyword: 'enum',
    schemaType: 'array',
    code: (cxt) => test(cxt, enumTest(cxt.schema)),
  })
  replace(ajv, {
    ...whole('uniqueItems', 'array', 'boolean'),
    code: (cxt) => cxt.schema && test(cxt, areUnique),
  })
  replace(ajv, {
    ...whole('multipleOf', 'number', 'number'),
    code: (cxt) => test(cxt, (value: number) => isMultiple(value, cxt.schema)),
  })
}

const whole = (keyword: string, type: 'array' | 'number', schemaType: 'boolean' | 'number') => ({
  keyword,
  type,
  schemaType,
})

function replace(ajv: Ajv, definition: CodeKeywordDefinition): void {
  ajv.removeKeyword(definition.keyword as string)
  ajv.addKeyword(definition)
}

/** Runs `first` where the keyword's own code begins. Dialects that have not the keyword stay without it. */
function wrap(ajv: Ajv, keyword: string, first: (cxt: KeywordCxt) => void): void {
  const definition = ajv.getKeyword(keyword)
  if (typeof definition !== 'object' || !('code' in definition)) return
  const { code, ...rest } = definition
  replace(ajv, {
    ...rest,
    code: (cxt, ruleType) => {
      first(cxt)
      code.call(definition, cxt, ruleType)
    },
  })
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
