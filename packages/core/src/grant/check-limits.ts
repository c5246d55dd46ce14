import { type GrantLimits, SallyportError } from '@sallyport/protocol'
import type { CatalogTool } from '../catalog/catalog.ts'
import { checkFixed } from '../schema/arguments.ts'
import { compileRoot } from '../schema/compile.ts'

/**
 * Are these limits enforceable, and do the fixed arguments fit every one of the tools? Throws `bad_schema` or
 * `fixed_argument` with the place in the request.
 */
export function checkLimits(limits: GrantLimits, tools: readonly CatalogTool[]): void {
  const { schema, fixed } = limits
  if (schema !== undefined) named('limits/schema', () => compileRoot(schema, 'overlay'))
  if (fixed === undefined) return
  const overlays = schema === undefined ? [] : [schema]
  for (const { inputSchema } of tools)
    named('limits/fixed', () => checkFixed(inputSchema, fixed, overlays))
}

/**
 * Is there anybody who can approve? Of a personal connection its owner decides, and nobody else. Throws `bad_request` with
 * the place in the request.
 */
export function checkApprovers(limits: GrantLimits, isPersonal: boolean): void {
  const { approvers = 'owner', excludeRequester = false } = limits
  if (isPersonal && approvers !== 'owner')
    throw new SallyportError('bad_request', { field: 'limits/approvers' })
  if (excludeRequester && approvers === 'owner')
    throw new SallyportError('bad_request', { field: 'limits/excludeRequester' })
}

/** Puts the place of the whole before the place within. */
function named(place: string, check: () => unknown): void {
  try {
    check()
  } catch (thrown) {
    if (!(thrown instanceof SallyportError)) throw thrown
    throw new SallyportError(thrown.code, { field: `${place}${thrown.field ?? ''}`, cause: thrown })
  }
}
