import { expect, test } from 'vitest'
import { SchemaCache } from './cache.ts'

const schema = (n: number) => ({ properties: { n: { const: n } } })

test('compiles at first use and keeps the last used ones', () => {
  const cache = new SchemaCache(2)
  const roots = [0, 1, 2].map((n) => cache.root('catalog', `sha256:${n}`, schema(n)))
  expect(cache.size).toBe(0)
  for (const [n, root] of roots.entries()) {
    expect(root.check({ n })).toBeUndefined()
    expect(root.check({ n: 9 })).toBeDefined()
  }
  expect(cache.size).toBe(2)
  expect(roots[0]?.check({ n: 0 })).toBeUndefined()
  expect(cache.size).toBe(2)
})

test('one digest means one schema, of one kind', () => {
  const cache = new SchemaCache()
  const first = cache.root('catalog', 'sha256:a', schema(1))
  expect(first.check({ n: 1 })).toBeUndefined()
  const again = cache.root('catalog', 'sha256:a', schema(2))
  expect(again.check({ n: 1 })).toBeUndefined()
  expect(cache.size).toBe(1)
  const overlay = cache.root('overlay', 'sha256:a', schema(2))
  expect(overlay.check({ n: 2 })).toBeUndefined()
  expect(cache.size).toBe(2)
})

test('a schema that cannot be enforced is told when it is checked with', () => {
  const root = new SchemaCache().root('catalog', 'sha256:a', { $ref: 'https://example.com/' })
  expect(() => root.check({})).toThrow(
    expect.objectContaining({ code: 'bad_schema', field: '/$ref' }),
  )
})
