import { expect, test } from 'vitest'
import { TurnWriter } from './turn-writer.ts'

function setup() {
  const written: string[] = []
  const gathered: Buffer[] = []
  const sink = { write: (bytes: Buffer) => written.push(bytes.toString()) }
  const writer = new TurnWriter(sink, () => gathered.splice(0))
  const write = (text: string) => writer.write(Buffer.from(text))
  return { written, gathered, writer, write }
}

test('writes what one event has to say as one, what was gathered last', async () => {
  const { written, gathered, writer, write } = setup()
  write('a')
  gathered.push(Buffer.from('c'))
  writer.wake()
  // The event goes on in promises: a transaction does.
  await Promise.resolve().then(() => write('b'))
  expect(written).toEqual([])
  await new Promise(process.nextTick)
  expect(written).toEqual(['abc'])
})

test('does not wait until the loop has gone round', async () => {
  const { written, write } = setup()
  const order: string[] = []
  const others = new Promise<void>((resolve) => {
    setImmediate(() => {
      setImmediate(() => {
        order.push(`others, after ${written.length}`)
        resolve()
      })
      write('a')
    })
  })
  await others
  expect(order).toEqual(['others, after 1'])
})

test('writes at once when it is told to, and nothing twice', async () => {
  const { written, writer, write } = setup()
  write('a')
  writer.flush()
  expect(written).toEqual(['a'])
  await new Promise(process.nextTick)
  expect(written).toEqual(['a'])
})
