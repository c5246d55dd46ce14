import { expect, test } from 'vitest'
import { routes } from './routes.ts'

const accepts = (name: keyof typeof routes, body: unknown): boolean => {
  const route = routes[name]
  return 'body' in route && route.body.safeParse(body).success
}

const grant = { connection: 'c', tools: 'get_*', mode: 'read' }

test.each([
  ['a limit of a grant', 'profile.grant', { ...grant, limits: { rates: {} } }],
  ['a part of a rate', 'profile.grant', { ...grant, limits: { rate: { count: 1, second: 1 } } }],
  ['a setting of a profile', 'profile.create', { name: 'p', settings: { idleSecond: 60 } }],
  ['a limit of a connection', 'connection.edit', { limits: { callMilliseconds: 100 } }],
] as const)('%s that is not known is refused, not left out', (_what, name, body) => {
  expect(accepts(name, body)).toBe(false)
})

test('what is known passes', () => {
  const limits = { rate: { count: 1, seconds: 1 }, resultBytes: 1, fixed: { any: { thing: 1 } } }
  expect(accepts('profile.grant', { ...grant, limits })).toBe(true)
  expect(accepts('profile.create', { name: 'p', settings: { idleSeconds: 60 } })).toBe(true)
  expect(accepts('connection.edit', { limits: { callMs: 100 } })).toBe(true)
})

const names = (count: number, suffix = '') =>
  Array.from({ length: count }, (_, n) => `t${n}${suffix}`)

test.each([
  ['2,000 names', { include: names(2000) }, true],
  ['100 patterns', { read: names(100, '_*') }, true],
  ['2,001 names', { include: names(2001) }, false],
  ['101 patterns', { read: names(101, '_*') }, false],
  ['a pattern longer than any name', { write: ['*a'.repeat(151)] }, false],
] as const)('a review with %s: %s', (_what, body, isAccepted) => {
  expect(accepts('catalog.review', body)).toBe(isAccepted)
})

test('the pattern of a grant is no longer than a name can be', () => {
  const tools = '*a'.repeat(151)
  expect(accepts('profile.grant', { ...grant, tools })).toBe(false)
  expect(accepts('profile.revoke', { connection: 'c', tools })).toBe(false)
})
