import { expect, test } from 'vitest'
import { listingDigest, toolDigest } from './tool-digest.ts'

const echo = {
  name: 'echo',
  description: 'Echoes.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
}

test('the digest of a tool and of a listing are these', () => {
  const digest = toolDigest(echo)
  expect(digest).toBe('sha256:aadc05ebb2a62b4cb225a133165ea590c65aa1e95f0bcb1247063201c00d466d')
  expect(listingDigest([{ name: 'echo', digest }])).toBe(
    'sha256:26b828679921326db40e9885bc600f08702575beaab5a0e41ca12fe0b01d4f9f',
  )
  expect(listingDigest([])).toBe(
    'sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945',
  )
})

test.each<[string, Record<string, unknown>]>([
  ['name', { name: 'echo2' }],
  ['title', { title: 'Echo' }],
  ['description', { description: 'Echoes' }],
  ['input schema', { inputSchema: { type: 'object' } }],
  ['output schema', { outputSchema: { type: 'object' } }],
  ['annotations', { annotations: { readOnlyHint: true } }],
])('another %s is another tool', (_what, change) => {
  expect(toolDigest({ ...echo, ...change })).not.toBe(toolDigest(echo))
})

test('key order, absent members and members that nobody reviews do not matter', () => {
  const { name, description, inputSchema } = echo
  const same = { inputSchema, icons: [], _meta: {}, title: undefined, description, name }
  expect(toolDigest(same as never)).toBe(toolDigest(echo))
})

test('the order of a listing does not matter', () => {
  const [a, b] = [
    { name: 'a', digest: toolDigest({ ...echo, name: 'a' }) },
    { name: 'B', digest: toolDigest(echo) },
  ]
  expect(listingDigest([a, b])).toBe(listingDigest([b, a]))
  expect(listingDigest([a, b])).not.toBe(listingDigest([a]))
})

test.each([
  ['half a surrogate pair', { description: '\ud800' }],
  ['a number no double holds', { inputSchema: JSON.parse('{"maximum":1e999}') }],
])('a tool with %s keeps not to the protocol', (_what, change) => {
  expect(() => toolDigest({ ...echo, ...change })).toThrow(
    expect.objectContaining({ code: 'upstream_protocol' }),
  )
})
