import { expect, test } from 'vitest'
import { SchemaCache } from './cache.ts'

const schema = (n: number) => ({ properties: { n: { const: n } } })

/** Says each time it is read, which only compiling does. */
function watched(n: number, compiled: Set<number>): unknown {
  return {
    get properties() {
      compiled.add(n)
      return { n: { const: n } }
    },
  }
}

test('compiles at first use, keeps the last used ones, and compiles again what was dropped', () => {
  const compiled = new Set<number>()
  const cache = new SchemaCache(2)
  const roots = [0, 1, 2].map((n) => cache.root('catalog', `sha256:${n}`, watched(n, compiled)))
  const use = (n: number): number[] => {
    compiled.clear()
    expect(roots[n]?.check({ n })).toBeUndefined()
    expect(roots[n]?.check({ n: 9 })).toBeDefined()
    return [...compiled]
  }
  expect([...compiled]).toEqual([])
  expect([use(0), use(0), use(1), use(0)]).toEqual([[0], [], [1], []])
  expect([use(2), use(0), use(1), use(2)]).toEqual([[2], [], [1], [2]])
})

test('one digest means one schema, of one kind', () => {
  const cache = new SchemaCache()
  const first = cache.root('catalog', 'sha256:a', schema(1))
  expect(first.check({ n: 1 })).toBeUndefined()
  const again = cache.root('catalog', 'sha256:a', schema(2))
  expect(again.check({ n: 1 })).toBeUndefined()
  const overlay = cache.root('overlay', 'sha256:a', schema(2))
  expect(overlay.check({ n: 2 })).toBeUndefined()
  expect(overlay.check({ n: 1 })).toBeDefined()
})

test('a schema that cannot be enforced is told when it is checked with', () => {
  const root = new SchemaCache().root('catalog', 'sha256:a', { $ref: 'https://example.com/' })
  expect(() => root.check({})).toThrow(
    expect.objectContaining({ code: 'bad_schema', field: '/$ref' }),
  )
})
