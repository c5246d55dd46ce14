import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { randomSupply } from './random-supply.ts'

test('no byte is handed out twice, and none is left out', () => {
  const given: Buffer[] = []
  const supply = randomSupply((size) => {
    const bytes = randomBytes(size)
    given.push(bytes)
    return bytes
  })
  const taken = Array.from({ length: 1_000 }, (_, at) => Buffer.from(supply(10 + (at % 7))))
  expect(given.length).toBeGreaterThan(1)
  let rest = Buffer.concat(given)
  for (const bytes of taken) {
    const at = rest.indexOf(bytes)
    expect(at).toBeGreaterThanOrEqual(0)
    // At most the end of one supply that was too short for it.
    expect(at).toBeLessThan(17)
    rest = rest.subarray(at + bytes.length)
  }
})

test('more than a supply holds is asked for at once', () => {
  expect(randomSupply(randomBytes)(10_000)).toHaveLength(10_000)
})
