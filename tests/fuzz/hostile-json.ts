/**
 * JSON that means harm: a value that was right is changed at one place, or its text is. What no value can say (the same
 * member twice, `1e999`, ten thousand brackets, half a surrogate) stands in it as text of its own.
 */
import type { Random } from '../system/random.ts'

/** Written as it is. */
class Verbatim {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Members in order, so that one can be there twice. */
class Members {
  readonly entries: [name: string, value: unknown][]
  constructor(entries: [string, unknown][]) {
    this.entries = entries
  }
}

const nested = (depth: number, open: string, close: string): Verbatim =>
  new Verbatim(`${open.repeat(depth)}0${close.repeat(depth)}`)

const evil: readonly unknown[] = [
  ...[null, true, false, 0, 1, -1, 0.5, 2 ** 31, -(2 ** 31), 2 ** 53, 2 ** 53 + 2, 1e300],
  ...['1e999', '-1e999', '-0', '1E400', '9'.repeat(400)].map((text) => new Verbatim(text)),
  ...['', ' ', '\0', '__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length', 'null'],
  ...['ünïcödé 🙂', '\u202e\u200b\ufeff', '🏴‍☠️'.repeat(40), 'K', 'ı', 'x'.repeat(70_000)],
  ...['"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"', '"\\u005f_proto__"'].map(
    (text) => new Verbatim(text),
  ),
  ...[[], {}, [[]], [null], { length: 5 }, { toString: 1 }, { constructor: {} }],
  new Verbatim('{"then":1}'),
  new Verbatim('{"__proto__":{"polluted":true}}'),
  new Verbatim('{"constructor":{"prototype":{"polluted":true}}}'),
  ...[nested(70, '[', ']'), nested(70, '{"a":', '}'), nested(200_000, '[', ']')],
  ...[nested(10_000, '{"a":', '}'), new Verbatim(`[${'0,'.repeat(5_000)}0]`)],
]

/** The text of the value after one change, which may be of anything in it. `pool`: what is right at other places. */
export function changedJson(random: Random, value: unknown, pool: readonly unknown[]): string {
  return print(change(random, value, pool))
}

function change(random: Random, value: unknown, pool: readonly unknown[]): unknown {
  const isInner = typeof value === 'object' && value !== null && Object.keys(value).length > 0
  if (!isInner || random.below(6) === 0) return instead(random, value, pool)
  return Array.isArray(value)
    ? changeList(random, value, pool)
    : changeMembers(random, value as Record<string, unknown>, pool)
}

function instead(random: Random, value: unknown, pool: readonly unknown[]): unknown {
  switch (random.below(5)) {
    case 0:
      return pool.length > 0 ? random.pick(pool) : random.pick(evil)
    case 1:
      return tweak(random, value)
    default:
      return random.pick(evil)
  }
}

/** Nearly the same. */
function tweak(random: Random, value: unknown): unknown {
  if (typeof value === 'number') return random.pick([value + 1, value - 1, -value, value * 1e10])
  if (typeof value !== 'string') return [value]
  const at = random.below(value.length + 1)
  return random.pick([
    value.slice(0, at),
    value + value,
    value.toUpperCase(),
    `${value.slice(0, at)}\u0000${value.slice(at)}`,
    Number(value),
  ])
}

function changeList(random: Random, list: readonly unknown[], pool: readonly unknown[]): unknown {
  const at = random.below(list.length)
  const others = list.toSpliced(at, 1)
  switch (random.below(5)) {
    case 0:
      return others
    case 1:
      return list.toSpliced(at, 0, list[at])
    case 2:
      return list.toReversed()
    default:
      return list.with(at, change(random, list[at], pool))
  }
}

function changeMembers(
  random: Random,
  members: Record<string, unknown>,
  pool: readonly unknown[],
): Members {
  const entries = Object.entries(members)
  const at = random.below(entries.length)
  const [name, value] = entries[at] as [string, unknown]
  switch (random.below(9)) {
    case 0:
      return new Members(entries.toSpliced(at, 1))
    case 1:
      return new Members([...entries, [name, instead(random, value, pool)]])
    case 2:
      return new Members([[name, instead(random, value, pool)], ...entries])
    case 3:
      return new Members(
        entries.with(at, [random.pick(['__proto__', name.toUpperCase(), '']), value]),
      )
    case 4:
      return new Members([...entries, ['__proto__', { polluted: true }]])
    default:
      return new Members(entries.with(at, [name, change(random, value, pool)]))
  }
}

/** As `JSON.stringify`, and what it cannot say. */
export function print(value: unknown): string {
  if (value instanceof Verbatim) return value.text
  if (value instanceof Members)
    return `{${value.entries.map(([name, inner]) => `${JSON.stringify(name)}:${print(inner)}`).join()}}`
  if (Array.isArray(value)) return `[${value.map(print).join()}]`
  if (typeof value === 'object' && value !== null)
    return print(new Members(Object.entries(value).filter(([, inner]) => inner !== undefined)))
  return JSON.stringify(value) ?? 'null'
}

/** Every word and number in a value: material for other places. */
export function leavesOf(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [value]
  return Object.values(value).flatMap(leavesOf)
}
