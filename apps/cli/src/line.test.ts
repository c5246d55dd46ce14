import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { readLine } from './line.ts'
import type { World } from './world.ts'

test('input that breaks is the end of a question, and there is no other afterwards', async () => {
  const stdin = new PassThrough().on('error', () => undefined)
  const world = { stdin, stderr: new PassThrough() } as unknown as World
  const asked = { question: '? ', over: new AbortController().signal }
  const line = readLine(world, asked)
  stdin.destroy(Object.assign(new Error('read EIO'), { code: 'EIO' }))
  expect(await line).toBeUndefined()
  expect(await readLine(world, asked)).toBeUndefined()
})
