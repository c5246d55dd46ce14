import { profileSettings, type Role } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import { mayStart } from './may-start.ts'

const may = (actors: string[] | undefined, role: Role, name = 'ada') =>
  mayStart({ settings: profileSettings.parse(actors ? { actors } : {}) }, { name, role })

test('everybody may when nothing is said', () => {
  for (const role of ['admin', 'approver', 'member'] as const)
    expect(may(undefined, role)).toBe(true)
})

test.each([
  [['role:approver'], 'approver', true],
  [['role:approver'], 'member', false],
  [['role:admin'], 'approver', false],
  [['ada'], 'member', true],
  [['bob'], 'member', false],
  [['bob', 'role:approver'], 'member', false],
  [[], 'approver', false],
] as const)('%j lets a(n) %s: %s', (actors, role, expected) => {
  expect(may([...actors], role)).toBe(expected)
})

test('an administrator may with any profile', () => {
  expect(may([], 'admin')).toBe(true)
})

test('a name that looks like a role is no role', () => {
  expect(() => profileSettings.parse({ actors: ['role:root'] })).toThrow()
  expect(may(['member'], 'member')).toBe(false)
})
