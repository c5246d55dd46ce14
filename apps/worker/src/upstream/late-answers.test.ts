import { expect, test } from 'vitest'
import { SteppedClock } from '../testing/stepped-clock.ts'
import { LateAnswers } from './late-answers.ts'

function waiting(count: number) {
  const clock = new SteppedClock()
  const late = new LateAnswers(clock)
  const given: number[] = []
  const ends = Array.from({ length: count }, (_, n) => late.wait(() => given.push(n)))
  return { clock, late, given, ends }
}

test('an answer is waited for a minute, and given up once', () => {
  const { clock, late, given } = waiting(1)
  clock.step(59_999)
  expect([given, late.size]).toEqual([[], 1])
  clock.step(1)
  clock.step(60_000)
  late.close()
  expect([given, late.size]).toEqual([[0], 0])
})

test('what came, or cannot come any more, is given up no more', () => {
  const { clock, late, given, ends } = waiting(1)
  ends[0]?.()
  clock.step(60_000)
  late.close()
  expect([given, late.size]).toEqual([[], 0])
})

test('64 are waited for; with the next one the oldest is given up', () => {
  const { late, given, ends } = waiting(64)
  expect(given).toEqual([])
  late.wait(() => given.push(64))
  expect([given, late.size]).toEqual([[0], 64])
  ends[5]?.()
  late.wait(() => given.push(65))
  expect(given).toEqual([0])
})

test('closing gives everything up, and what comes later at once', () => {
  const { late, given } = waiting(3)
  late.close()
  expect(given).toEqual([0, 1, 2])
  late.wait(() => given.push(3))
  expect([given, late.size]).toEqual([[0, 1, 2, 3], 0])
})
