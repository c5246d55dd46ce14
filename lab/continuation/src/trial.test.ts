/** The laboratory on scripted clients, whose outcomes are known: through a whole Sallyport, no time asserted. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { measureHeld } from './held-sockets.ts'
import { type LabWorld, startLabWorld } from './lab-world.ts'
import { carryOut } from './plan.ts'
import { scorecard } from './scorecard.ts'
import { scriptedHarness } from './testing/scripted-harness.ts'
import { coldTrial, heldTrial } from './trial.ts'

let world: LabWorld
beforeAll(async () => {
  world = await startLabWorld()
})
afterAll(() => world?.remove())

test('each call that waits is one descriptor of the gateway', async () => {
  const { descriptorsEach, rssKibEach } = await measureHeld(world, 16)
  expect(descriptorsEach).toBeCloseTo(1, 0)
  expect(rssKibEach).not.toBeNaN()
})

test.each([
  ['patient', 'accepted-and-continued'],
  ['gives up', 'client-closed'],
  ['sends twice', 'client-retried'],
  ['forgets', 'accepted-but-ignored'],
  ['calls nothing', 'no-signal'],
] as const)('%s: %s', async (manner, outcome) => {
  const trial = await heldTrial(world, scriptedHarness(manner), { way: 'signs', holdMs: 200 })
  expect(trial.outcome).toBe(outcome)
})

test('a server that says nothing until it answers is waited for by who is patient', async () => {
  const trial = await heldTrial(world, scriptedHarness('patient'), { way: 'silent', holdMs: 200 })
  expect(trial.outcome).toBe('accepted-and-continued')
})

test('the next turn is given the outcome of the one before, and one write is sent', async () => {
  const trial = await coldTrial(world, scriptedHarness('patient'))
  expect(trial).toMatchObject({ matched: true, askedAgain: false, effects: 1 })
})

test('a client that never asks has no outcome to come back for', async () => {
  const trial = await coldTrial(world, scriptedHarness('calls nothing'))
  expect(trial).toMatchObject({ matched: false, effects: 0, resumeMs: undefined })
})

test('a whole plan ends in a scorecard that says how much it can decide', async () => {
  const range = { from: 0.1, to: 0.4, within: 0.2 }
  const plan = {
    holds: [{ way: 'signs', seconds: 0.1, trials: 2 }],
    ceilings: [{ way: 'signs', range, trials: 1 }],
    coldTrials: 1,
    heldCalls: 8,
    atOnce: 2,
  } as const
  const lines: string[] = []
  const harnesses = [scriptedHarness('patient'), scriptedHarness('sends twice')]
  const result = await carryOut(plan, world, harnesses, (line) => lines.push(line))
  expect(lines.filter((line) => line.includes('cold'))).toHaveLength(2)
  const circumstances = {
    date: '2026-01-02',
    form: 'short',
    trials: 2,
    commit: 'abc',
    machine: 'one',
    node: 'v24',
    kernel: '6',
    load: [0, 1],
    tookSeconds: 3,
    notRun: ['not run: other 1 could not be installed'],
  } as const
  const card = scorecard(circumstances, result)
  expect(card).toContain(
    '| patient 1 | signs | 0.1 s | 2 | 2 | 0 | 0 | 0 | 0 | 0 | – | 2 of 2 (34 %–100 %) | undecided |',
  )
  expect(card).toContain('| patient | signs | its default | 0.4 s | more than 0.4 s | 0.3 s | 2 |')
  expect(card).toContain('| sends twice | signs | its default | less than 0.1 s | 0.1 s | – | 1 |')
  expect(card).toContain('not run: other 1 could not be installed.')
}, 60_000)
