import { expect, test } from 'vitest'
import { accountOf, compareAccounts, mergeAccounts } from './account.ts'

test('the first source that names somebody counts, and a number is a name', () => {
  expect(accountOf({ sub: 'a', email: 'a@x' }, { sub: 'b', user_id: 7, name: 'B' })).toEqual({
    ids: { sub: 'a', user_id: '7' },
    label: 'a@x',
  })
})

test.each([
  [{}],
  [{ sub: '' }],
  [{ sub: 'x'.repeat(257) }],
  [{ sub: 1.5 }],
  [{ sub: { id: 'a' } }],
  [{ email: 'x'.repeat(129) }],
  [{ email: 'a\nb' }],
  [{ name: '\ud800' }],
  [JSON.parse('{"__proto__": {"sub": "a"}}')],
])('%j names nobody', (source) => {
  expect(accountOf(source)).toBeUndefined()
})

const of = (ids: Record<string, string>) => ({ ids })

test.each([
  [of({ sub: 'a' }), of({ sub: 'a' }), 'same'],
  [of({ sub: 'a' }), of({ sub: 'b' }), 'other'],
  [of({ sub: 'a', team_id: '1' }), of({ sub: 'a', team_id: '2' }), 'other'],
  [of({ sub: 'a', team_id: '1' }), of({ sub: 'a' }), 'same'],
  [of({ team_id: '1' }), of({ team_id: '1' }), 'unproved'],
  [of({ sub: 'a' }), of({ user_id: 'a' }), 'unproved'],
  [undefined, of({ sub: 'a' }), 'unproved'],
  [of({ sub: 'a' }), undefined, 'unproved'],
  [of({}), of({}), 'unproved'],
])('%j and %j are %s', (before, now, finding) => {
  expect(compareAccounts(before, now)).toBe(finding)
})

test('what a later answer leaves out stays', () => {
  const before = { ids: { sub: 'a', team_id: '1' }, label: 'A' }
  expect(mergeAccounts(before, undefined)).toEqual(before)
  expect(mergeAccounts(before, of({ user_id: '7' }))).toEqual({
    ids: { sub: 'a', team_id: '1', user_id: '7' },
    label: 'A',
  })
  expect(mergeAccounts(undefined, of({ sub: 'a' }))).toEqual(of({ sub: 'a' }))
})
