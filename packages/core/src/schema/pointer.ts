/** JSON pointers (RFC 6901). */

export function toPointer(steps: readonly (string | number)[]): string {
  return steps.map((step) => `/${String(step).replace(/~/g, '~0').replace(/\//g, '~1')}`).join('')
}

export function fromPointer(pointer: string): string[] {
  const steps = pointer.split('/').slice(1)
  return steps.map((step) => step.replace(/~1/g, '/').replace(/~0/g, '~'))
}

/** The place a reference within its document points to, or undefined when it is no `#/…` pointer. */
export function referenceSteps(reference: string): string[] | undefined {
  if (reference === '#') return []
  if (!reference.startsWith('#/')) return undefined
  try {
    return fromPointer(decodeURIComponent(reference.slice(1)))
  } catch {
    return undefined
  }
}

/** What stands there; undefined when nothing does. Own members only. */
export function valueAt(document: unknown, steps: readonly string[]): unknown {
  let value = document
  for (const step of steps) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Record<string, unknown>)[step]
  }
  return value
}
