/** `what` is a stable word; the others are for people. */
export interface Mismatch {
  readonly what: string
  readonly expected: string
  readonly found: string
}

/** Empty when both say the same; lists are compared in order. */
export function differ(what: string, expected: unknown, found: unknown): readonly Mismatch[] {
  const [a, b] = [text(expected), text(found)]
  return a === b ? [] : [{ what, expected: a, found: b }]
}

function text(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String(value)
}
