import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { writeOut } from './write-out.ts'

test.each<[string, (reader: PassThrough) => unknown]>([
  ['reads', (reader) => reader.read()],
  ['goes', (reader) => reader.destroy()],
])('waits until a slower reader %s, and leaves no listener behind', async (_, act) => {
  const output = new PassThrough({ highWaterMark: 4 })
  const listeners = (): number[] => ['drain', 'close'].map((name) => output.listenerCount(name))
  const before = listeners()
  let isOver = false
  const written = writeOut(output, 'longer').then(() => {
    isOver = true
  })
  await new Promise(setImmediate)
  expect(isOver).toBe(false)
  act(output)
  await written
  expect(listeners()).toEqual(before)
})
