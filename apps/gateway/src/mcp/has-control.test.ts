import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hasControl } from './has-control.ts'

test('finds a byte below 0x20 wherever it stands and wherever the bytes lie', () => {
  const bytes = fc.uint8Array({ min: 0x20, maxLength: 40 })
  const property = fc.property(
    bytes,
    fc.nat(7),
    fc.nat(39),
    fc.nat(31),
    (plain, offset, at, low) => {
      const placed = new Uint8Array(offset + plain.length + 8).subarray(
        offset,
        offset + plain.length,
      )
      placed.set(plain)
      expect(hasControl(placed)).toBe(false)
      if (at >= plain.length) return
      placed[at] = low
      expect(hasControl(placed)).toBe(true)
    },
  )
  fc.assert(property, { numRuns: 3_000 })
})
