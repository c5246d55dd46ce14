import type { Intent, ResultHead } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
import { Ledger } from './ledger.ts'
import { Order } from './order.ts'

const start = Date.parse('2026-11-30T12:00:00Z')
const recipient = { send: () => {} }

function order(id: string, iat: number): Order {
  return new Order({ id, iat, exp: iat + 15_000 } as Intent, 0, recipient)
}

function ended(id: string, iat: number, verdict: ResultHead['verdict']): Order {
  const one = order(id, iat)
  one.phase = 'ended'
  one.result = { intent: id, verdict }
  return one
}

/** Enough others that nothing is remembered longer than it must be. */
function crowd(ledger: Ledger, now: number): void {
  for (let i = 0; i < 20_001; i++) ledger.spend(`other-${i}`, now, now, false)
}

test('an id is known until its intent could not be valid any more, with the skew', () => {
  const ledger = new Ledger(start)
  ledger.add(order('a', start))
  const one = ledger.find('a') as Order
  one.phase = 'fenced'
  crowd(ledger, start + 100_000)
  ledger.sweep(start + 20_000)
  expect(ledger.has('a')).toBe(true)
  ledger.sweep(start + 20_001)
  expect(ledger.has('a')).toBe(false)
})

test('as long as they are few, ids are known for ten minutes more', () => {
  const ledger = new Ledger(start)
  ledger.add(ended('a', start, 'result'))
  ledger.settle('a')
  ledger.sweep(start + 600_000)
  expect(ledger.has('a')).toBe(true)
  ledger.sweep(start + 620_001)
  expect(ledger.has('a')).toBe(false)
})

test('an unsettled result and a running call are not forgotten', () => {
  const ledger = new Ledger(start)
  ledger.add(ended('result', start, 'result'))
  const running = order('running', start)
  running.phase = 'sent'
  ledger.add(running)
  crowd(ledger, start - 10_000_000)
  ledger.sweep(start + 10_000_000)
  expect(ledger.has('result')).toBe(true)
  expect(ledger.has('running')).toBe(true)
  expect(ledger.size).toBe(2)
})

test('forgetting what may have left shortens the memory, forgetting what has not does not', () => {
  const ledger = new Ledger(start)
  expect(ledger.reachesBackTo(start)).toBe(true)
  expect(ledger.reachesBackTo(start - 5_000)).toBe(false)
  ledger.add(ended('not sent', start + 1_000, 'not_sent'))
  ledger.settle('not sent')
  ledger.sweep(start + 10_000_000)
  expect(ledger.size).toBe(0)
  expect(ledger.reachesBackTo(start + 1_000)).toBe(true)
  ledger.add(ended('sent', start + 2_000, 'uncertain'))
  ledger.settle('sent')
  ledger.sweep(start + 10_000_000)
  expect(ledger.size).toBe(0)
  expect(ledger.reachesBackTo(start + 2_000)).toBe(false)
  expect(ledger.reachesBackTo(start + 2_001)).toBe(true)
  expect(ledger.since).toBe(start + 2_000)
})

test('a spent id without an order is unused unless something may have left under it', () => {
  const ledger = new Ledger(start)
  ledger.spend('fenced', start, start, false)
  ledger.spend('doubtful', start, start, true)
  ledger.add(ended('settled', start, 'result'))
  expect(ledger.isUnused('settled')).toBe(false)
  ledger.settle('settled')
  expect(['fenced', 'doubtful', 'settled', 'unknown'].map((id) => ledger.isUnused(id))).toEqual([
    true,
    false,
    false,
    false,
  ])
})

test('orders are found by who gets their results', () => {
  const ledger = new Ledger(start)
  ledger.add(order('a', start))
  ledger.add(order('b', start))
  const other = { send: () => {} }
  const [a] = ledger.ordersOf(recipient)
  if (a) a.recipient = other
  expect(ledger.ordersOf(recipient).map(({ intent }) => intent.id)).toEqual(['b'])
})
