import { expect, test } from 'vitest'
import { Questions } from './questions.ts'
import { SteppedClock } from './scripted-worker.ts'

const answer = (intent: string) => ({
  head: { intent, instance: 'w', state: 'not_known' } as const,
  raw: Buffer.alloc(0),
})

test('gives up after ten seconds without every answer', async () => {
  const clock = new SteppedClock(0)
  const questions = new Questions(clock)
  const asked = expect(questions.ask([{ id: 'a' }, { id: 'b' }])).rejects.toMatchObject({
    code: 'worker_down',
  })
  questions.onAnswer(answer('a'))
  clock.step(10_000)
  await asked
})

test('gives each of two questions about one intent its own answer', async () => {
  const questions = new Questions(new SteppedClock(0))
  const asked = [questions.ask([{ id: 'a' }]), questions.ask([{ id: 'a' }, { id: 'b' }])]
  for (const id of ['a', 'b', 'a', 'unasked']) questions.onAnswer(answer(id))
  const found = await Promise.all(asked)
  expect(found.map((answers) => answers.map(({ head }) => head.intent))).toEqual([
    ['a'],
    ['b', 'a'],
  ])
})

test('an answer goes to no question that was given up', async () => {
  const clock = new SteppedClock(0)
  const questions = new Questions(clock)
  const first = expect(questions.ask([{ id: 'a' }])).rejects.toThrow()
  clock.step(10_000)
  await first
  const second = questions.ask([{ id: 'a' }])
  questions.onAnswer(answer('a'))
  expect(await second).toHaveLength(1)
})
