import fc from 'fast-check'
import { expect, test } from 'vitest'
import { exposedNames, fitsName } from './naming.ts'

const named = (...names: string[]) => Object.fromEntries(exposedNames('github', names))

test('a name that fits stays', () => {
  expect(named('get_issue', 'list-repos', 'A1')).toEqual({
    get_issue: 'get_issue',
    'list-repos': 'list-repos',
    A1: 'A1',
  })
})

test('what models cannot write becomes an underscore', () => {
  expect(named('issues.create', 'zürich')).toEqual({
    'issues.create': 'issues_create',
    zürich: 'z_rich',
  })
})

test('names that would be one end in a digest of the own name', () => {
  expect(named('a.b', 'a_b', 'a/b', 'c')).toEqual({
    'a.b': 'a_b_2e7336dc',
    a_b: 'a_b_648fa9b3',
    'a/b': 'a_b_c14cddc0',
    c: 'c',
  })
})

test('a long name is cut, with a digest of the whole', () => {
  const long = `${'read'.repeat(20)}_one`
  const exposed = named(long)[long]
  expect(exposed).toMatch(/^(?:read){10}re_[0-9a-f]{8}$/)
  expect(`mcp__github__${exposed}`.length).toBeLessThanOrEqual(64)
})

test('a name that looks as if it had a digest gets one of its own', () => {
  expect(named('a_b_9eab3c5f')['a_b_9eab3c5f']).toMatch(/^a_b_9eab3c5f_[0-9a-f]{8}$/)
})

const connection = fc.stringMatching(/^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/)
const tool = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b', '.', '_', '/', ' '), maxLength: 4 }),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.stringMatching(/^x_[0-9a-f]{8}$/),
  fc.constantFrom('y', 'z').map((end) => 'n'.repeat(70) + end),
)

test('exposed names are always unique, valid, short, and independent of the order', () => {
  fc.assert(
    fc.property(connection, fc.uniqueArray(tool, { maxLength: 30 }), (connectionName, names) => {
      const exposed = exposedNames(connectionName, names)
      expect([...exposed.keys()].toSorted()).toEqual(names.toSorted())
      expect(new Set(exposed.values()).size).toBe(names.length)
      for (const name of exposed.values()) {
        expect(name).toMatch(/^[A-Za-z0-9_-]+$/)
        expect(`mcp__${connectionName}__${name}`.length).toBeLessThanOrEqual(64)
        expect(fitsName(connectionName, name)).toBe(true)
      }
      const turned = exposedNames(connectionName, names.toReversed())
      for (const name of names) expect(turned.get(name)).toBe(exposed.get(name))
    }),
  )
})

test('an exposed name fits no longer when its connection gets a longer name', () => {
  expect(fitsName('c', 'x'.repeat(56))).toBe(true)
  expect(fitsName('cc', 'x'.repeat(56))).toBe(false)
})
