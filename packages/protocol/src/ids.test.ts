import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { idSource, isId } from './ids.ts'

const zeros = (size: number): Uint8Array => new Uint8Array(size)
const ones = (size: number): Uint8Array => new Uint8Array(size).fill(255)

test('an id is its prefix, ten characters of time and sixteen of chance', () => {
  expect(idSource(() => 0, zeros)('connection')).toBe(`con_${'0'.repeat(26)}`)
  expect(idSource(() => 2 ** 48 - 1, ones)('token')).toBe(`tok_7zzzzzzzzz${'z'.repeat(16)}`)
  expect(idSource(() => 1_796_000_000_000, zeros)('execution')).toBe(
    `exe_01m8mz2a00${'0'.repeat(16)}`,
  )
})

test('every kind has the prefix that others store', () => {
  const make = idSource(() => 1, zeros)
  const kinds = {
    connection: 'con_',
    credential: 'crd_',
    catalog: 'cat_',
    profile: 'pro_',
    grant: 'gra_',
    session: 'ses_',
    binding: 'bnd_',
    execution: 'exe_',
    intent: 'int_',
    approval: 'apr_',
    input: 'inp_',
    user: 'usr_',
    token: 'tok_',
    instance: 'ins_',
    stream: 'str_',
    oauthClient: 'oac_',
    oauthFlow: 'flw_',
    service: 'svc_',
  } as const
  for (const [kind, prefix] of Object.entries(kinds)) {
    const id = make(kind as keyof typeof kinds)
    expect(id.slice(0, 4)).toBe(prefix)
    expect(isId(kind as keyof typeof kinds, id)).toBe(true)
  }
})

test('ids of one source are unique and sort in the order they were made, whatever the clock does', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 2, maxLength: 200 }),
      fc.boolean(),
      (clock, crowded) => {
        let at = 0
        const make = idSource(() => clock[at++] as number, crowded ? ones : randomBytes)
        const ids = clock.map(() => make('execution'))
        expect(ids.toSorted()).toEqual(ids)
        expect(new Set(ids).size).toBe(ids.length)
      },
    ),
  )
})

test.each([
  // Where the counted characters are at their end, and the bytes in front of them count on.
  ['0000000000000000', 'ffff'],
  ['00000000000000ff', 'ffff'],
])('the 80 bits are one number that counts up: after %s%s', (front, back) => {
  const bytes = Buffer.from(`${front}${back}`, 'hex')
  expect(bytes).toHaveLength(10)
  const make = idSource(
    () => 5,
    () => bytes,
  )
  const before = Array.from({ length: 2 ** 4 }, () => make('grant'))
  for (let left = 2 ** 20; left > 0; left--) make('grant')
  const after = make('grant')
  const number = (id: string) =>
    [...id.slice(14)].reduce(
      (sum, digit) => sum * 32n + BigInt('0123456789abcdefghjkmnpqrstvwxyz'.indexOf(digit)),
      0n,
    )
  expect(number(before[0] as string)).toBe(BigInt(`0x${front}${back}`))
  expect(number(after)).toBe(BigInt(`0x${front}${back}`) + 2n ** 20n + 16n)
  expect(after.slice(0, 14)).toBe(before[0]?.slice(0, 14))
})

test('an id does not change when the random bytes of its source are reused', () => {
  const bytes = new Uint8Array(10)
  const make = idSource(
    () => 5,
    () => bytes,
  )
  make('grant')
  bytes.fill(9)
  expect(make('grant')).toBe(`gra_0000000005${'0'.repeat(15)}1`)
})

test.each([
  ['con_00000000000000000000000000', true],
  ['con_0000000000000000000000000z', true],
  ['con_0000000000000000000000000Z', false],
  ['con_0000000000000000000000000i', false],
  ['con_0000000000000000000000000l', false],
  ['con_0000000000000000000000000o', false],
  ['con_0000000000000000000000000u', false],
  ['con_0000000000000000000000000', false],
  ['con_000000000000000000000000000', false],
  ['con_00000000000000000000000000\n', false],
  ['crd_00000000000000000000000000', false],
  ['', false],
  [undefined, false],
  [['con_00000000000000000000000000'], false],
])('%j is a connection id: %s', (text, expected) => {
  expect(isId('connection', text)).toBe(expected)
})
