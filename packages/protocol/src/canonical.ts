/** Canonical JSON: the one spelling of a value that digests are made over. */

/**
 * RFC 8785. Takes what JSON.parse returns; object members with the value undefined are left out, as JSON does. Throws
 * TypeError for what has no canonical form: a number that is not finite, half a surrogate pair, anything but JSON.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return slowly(value)
  // V8 writes a tree whose members are in order several times as quickly as we do one by one.
  const ordered = inOrder(value)
  if (ordered === undefined) return slowly(value)
  const text = JSON.stringify(ordered)
  // How JSON.stringify spells half a pair. Text that only looks so is decided the slow way.
  return text.includes('\\ud') ? slowly(value) : text
}

function slowly(value: unknown): string {
  if (typeof value === 'string') return canonicalString(value)
  if (value === null || typeof value !== 'object') {
    const text = JSON.stringify(value)
    if (text === undefined || (typeof value === 'number' && !Number.isFinite(value)))
      throw new TypeError('not a JSON value')
    return text
  }
  if (Array.isArray(value)) return `[${Array.from(value, slowly).join(',')}]`
  const members = value as Record<string, unknown>
  const parts: string[] = []
  for (const key of Object.keys(members).sort()) {
    if (members[key] !== undefined) parts.push(`${canonicalString(key)}:${slowly(members[key])}`)
  }
  return `{${parts.join(',')}}`
}

function canonicalString(text: string): string {
  if (!text.isWellFormed()) throw new TypeError('half a surrogate pair')
  return JSON.stringify(text)
}

/**
 * The same value with the members of every object in order, the value itself where they are already. Undefined for
 * what JSON.stringify would not write as we do: keys that objects keep in an order of their own, values with methods of
 * their own, anything that is not JSON.
 */
function inOrder(value: object): object | undefined {
  if (Array.isArray(value)) return arrayInOrder(value)
  if (!isPlain(value)) return undefined
  const members = value as Record<string, unknown>
  const keys = Object.keys(members)
  const sorted = isSorted(keys) ? keys : keys.slice().sort()
  let copy: Record<string, unknown> | undefined = sorted === keys ? undefined : {}
  for (let at = 0; at < sorted.length; at++) {
    const key = sorted[at] as string
    const first = key.charCodeAt(0)
    if ((first >= 48 && first <= 57) || key === '__proto__') return undefined
    const member = members[key]
    const ordered = memberInOrder(member)
    if (ordered === notPlain) return undefined
    if (copy === undefined && ordered !== member) {
      copy = {}
      for (let before = 0; before < at; before++)
        copy[sorted[before] as string] = members[sorted[before] as string]
    }
    if (copy !== undefined) copy[key] = ordered
  }
  return copy ?? value
}

const notPlain = Symbol('not plain')

function memberInOrder(member: unknown): unknown {
  switch (typeof member) {
    case 'string':
    case 'boolean':
      return member
    case 'number':
      return Number.isFinite(member) ? member : notPlain
    case 'object':
      return member === null ? null : (inOrder(member) ?? notPlain)
    default:
      return notPlain
  }
}

function arrayInOrder(value: readonly unknown[]): object | undefined {
  let copy: unknown[] | undefined
  for (let at = 0; at < value.length; at++) {
    const ordered = memberInOrder(value[at])
    if (ordered === notPlain) return undefined
    if (copy === undefined && ordered !== value[at]) copy = value.slice(0, at)
    copy?.push(ordered)
  }
  return copy ?? value
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && !('toJSON' in value)
}

function isSorted(keys: readonly string[]): boolean {
  for (let at = 1; at < keys.length; at++)
    if ((keys[at - 1] as string) >= (keys[at] as string)) return false
  return true
}
