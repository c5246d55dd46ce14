import { expect, test } from 'vitest'
import { Slots } from './slots.ts'

test('so many run at once, in the order they came, and one that fails makes room too', async () => {
  const slots = new Slots(2)
  const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>())
  const began: number[] = []
  const runs = gates.map(({ promise }, index) =>
    slots.run(async () => {
      began.push(index)
      await promise
    }),
  )
  expect(began).toEqual([0, 1])
  gates[0]?.reject(new Error('failed'))
  await expect(runs[0]).rejects.toThrow('failed')
  gates[1]?.resolve()
  await runs[1]
  for (const { resolve } of gates) resolve()
  await Promise.all(runs.slice(1))
  expect(began).toEqual([0, 1, 2, 3])
  expect(() => new Slots(0)).toThrow(TypeError)
})
