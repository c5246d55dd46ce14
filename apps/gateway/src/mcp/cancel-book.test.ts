import { expect, test } from 'vitest'
import { CancelBook } from './cancel-book.ts'

function bookAt(start = 1_000_000) {
  const clock = { now: start }
  const book = new CancelBook(() => clock.now)
  const begin = (scope: string, id: string) => book.begin(scope, id, new AbortController())
  return { book, clock, begin }
}

test('aborts the running call of that scope and id, and no other', () => {
  const { book, begin } = bookAt()
  const mine = begin('a', '1')
  const others = [begin('b', '1'), begin('a', '2'), begin('a', '"1"')]
  book.cancel('a', '1')
  expect(mine?.signal.aborted).toBe(true)
  expect(mine?.signal.reason).toBe('cancelled')
  expect(others.map((call) => call?.signal.aborted)).toEqual([false, false, false])
})

test('refuses the call whose cancel came first, once, within a minute', () => {
  const { book, clock, begin } = bookAt()
  book.cancel('a', '7')
  clock.now += 59_999
  expect(begin('b', '7')).toBeDefined()
  expect(begin('a', '7')).toBeUndefined()
  expect(begin('a', '7')).toBeDefined()
})

test('waits no longer than a minute for the call', () => {
  const { book, clock, begin } = bookAt()
  book.cancel('a', '7')
  clock.now += 60_000
  expect(begin('a', '7')?.signal.aborted).toBe(false)
})

test('ignores the cancel of a call that has ended', () => {
  const { book, begin } = bookAt()
  begin('a', '7')?.end()
  book.cancel('a', '7')
  expect(begin('a', '7')?.signal.aborted).toBe(false)
})

test('takes two spellings of one string id for the same', () => {
  const { book, begin } = bookAt()
  const call = begin('a', '"\\u0061"')
  book.cancel('a', '"a"')
  expect(call?.signal.aborted).toBe(true)
})

test('keeps a bounded number of cancels and no id longer than any client sends', () => {
  const { book, begin } = bookAt()
  for (let id = 0; id < 3_000; id++) book.cancel('a', String(id))
  expect(begin('a', '0')).toBeDefined()
  expect(begin('a', '2999')).toBeUndefined()
  const long = `"${'x'.repeat(300)}"`
  book.cancel('a', long)
  expect(begin('a', long)).toBeDefined()
})
