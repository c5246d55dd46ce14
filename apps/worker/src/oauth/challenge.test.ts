import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readChallenge } from './challenge.ts'

const meta = 'https://mcp.example/.well-known/oauth-protected-resource'

test.each([
  [`Bearer resource_metadata="${meta}", scope="a b"`, { resourceMetadata: meta, scope: 'a b' }],
  [`bearer scope="a",resource_metadata=${meta}`, { scope: 'a', resourceMetadata: meta }],
  [`Bearer realm="x, y=\\"z\\"", scope = "a"`, { scope: 'a' }],
  [`Basic realm="x", Bearer scope="a", Digest scope="b"`, { scope: 'a' }],
  [`Negotiate YWJj+/=, Bearer scope="a"`, { scope: 'a' }],
  [`Negotiate /YWJj==, Bearer scope="a"`, { scope: 'a' }],
  [`Bearer scope="a", Bearer scope="b", error="c"`, { scope: 'a' }],
  [`Bearer error="insufficient_scope", scope="w"`, { error: 'insufficient_scope', scope: 'w' }],
  [`Bearer SCOPE="a", scope="b"`, { scope: 'a' }],
  [`Bearer scope="a  b a"`, { scope: 'a b' }],
  [`Bearer scope="a\\\\b ok"`, { scope: 'ok' }],
  ['Bearer', {}],
  [`DPoP scope="a"`, {}],
  ['', {}],
  [undefined, {}],
  ['"', {}],
  ['=,=,=', {}],
] as const)('of %j it reads %j', (header, challenge) => {
  expect(readChallenge(header)).toEqual(challenge)
})

test('whatever a server says ends, soon, and is no challenge of another shape', () => {
  const part = fc.constantFrom('Bearer', ' ', ',', '=', '"', '\\', 'scope', 'a', '\t', 'ä', '/')
  fc.assert(
    fc.property(fc.array(part, { maxLength: 200 }), (parts) => {
      const challenge = readChallenge(parts.join(''))
      for (const value of Object.values(challenge)) expect(typeof value).toBe('string')
    }),
  )
  const evil = [
    `Bearer ${'"'.repeat(16_000)}`,
    `Bearer x="${'\\'.repeat(16_000)}`,
    'a '.repeat(8_000),
  ]
  const before = performance.now()
  for (const header of evil) readChallenge(header)
  expect(performance.now() - before).toBeLessThan(500)
})
