import { expect, test } from 'vitest'
import { SealBook } from './seal-book.ts'

test('knows the last 256 seals and forgets the oldest first', () => {
  const book = new SealBook()
  for (let n = 0; n < 257; n++) book.add(`name ${n}`, `seal ${n}`)
  expect(book.get('name 0')).toBeUndefined()
  expect(book.get('name 1')).toBe('seal 1')
  expect(book.get('name 256')).toBe('seal 256')
})

test('two ends that see the same frames know the same seals, whatever was asked for in between', () => {
  const [sender, receiver] = [new SealBook(), new SealBook()]
  let crossed = 0
  for (let n = 0; n < 2000; n++) {
    const seal = `seal ${(n * n) % 400}`
    if (sender.get(seal) === undefined) {
      crossed++
      sender.add(seal, seal)
      receiver.add(`digest of ${seal}`, seal)
    }
    expect(receiver.get(`digest of ${seal}`)).toBe(seal)
  }
  expect(crossed).toBeLessThan(2000)
})
