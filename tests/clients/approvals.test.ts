import { describe, expect, test } from 'vitest'
import { type AgentName, agents } from './agents.ts'
import {
  added,
  counterIs,
  type DecidedWrite,
  type Decision,
  decideWrite,
} from './approved-write.ts'
import { noAnswerYet } from './fake-script.ts'
import { findClient, type Installed } from './install-clients.ts'

const isThorough = process.env['SALLYPORT_TEST_ALL'] === '1'
/** Most clients give up a silent call after a minute. */
const seconds = Number(process.env['SALLYPORT_TEST_APPROVAL_SECONDS'] ?? (isThorough ? 90 : 2))
const names = Object.keys(agents) as AgentName[]

const installed = await Promise.all(
  names.map(async (name) => [name, await findClient(name)] as const),
)

// They mostly wait.
describe.concurrent(`a write that a person decides about after ${seconds} s`, () => {
  for (const [name, client] of installed) decidedWith(name, client)
})

function decidedWith(name: AgentName, { program, reason }: Installed): void {
  const { sees } = agents[name]
  const clientTest = (
    title: string,
    decision: Decision,
    expectThat: (outcome: DecidedWrite) => void,
  ) =>
    test(`${name}: ${title}`, { timeout: decision.afterMs + 150_000 }, async ({ skip }) => {
      if (program === undefined) return skip(reason)
      expectThat(await decideWrite(name, program, decision))
    })

  clientTest(
    'the call is held until it is approved, sent once, and answered',
    { verb: 'approve', afterMs: seconds * 1000 },
    ({ results, approvals, executions, writes, ended }) => {
      const seen = [counterIs(0), added, counterIs(1)].map((text) => sees.text(text))
      expect(results, ended.stderr).toEqual(seen)
      expect(writes).toBe(1)
      expect(executions.map(({ tool, state }) => [tool, state])).toEqual([
        ['read', 'succeeded'],
        ['add', 'succeeded'],
        ['read', 'succeeded'],
      ])
      expect(approvals.map(({ state }) => state)).toEqual(['consumed'])
      expect(executions[1]?.approvalId).toBe(approvals[0]?.id)
    },
  )

  clientTest(
    'told to come back, it collects the outcome of the one write',
    { verb: 'approve', afterMs: 3_000, settings: { holdSeconds: 1 } },
    (outcome) => {
      expectCollected(name, outcome)
      expect(outcome.results.length).toBeGreaterThan(3)
      expect(outcome.executions.map(({ state }) => state)).toEqual(Array(3).fill('succeeded'))
      expect(outcome.approvals.map(({ state }) => state)).toEqual(['consumed'])
    },
  )

  clientTest(
    'having given up, it asks again and gets the outcome of the one write',
    { verb: 'approve', afterMs: 5_000, callLimitMs: 3_000 },
    (outcome) => {
      expectCollected(name, outcome)
      expect(outcome.results.length).toBeGreaterThan(3)
      const succeeded = outcome.executions.filter(({ state }) => state === 'succeeded')
      expect(succeeded.map(({ tool }) => tool)).toEqual(['read', 'add', 'read'])
      const used = outcome.approvals.filter(({ state }) => state === 'consumed')
      expect(used.map(({ executionId }) => executionId)).toEqual([succeeded[1]?.id])
      const others = outcome.executions.filter((one) => !succeeded.includes(one))
      expect(others.filter((one) => !isTakenBack(one))).toEqual([])
    },
  )

  const expectNothingSent = (code: string, state: string) => (outcome: DecidedWrite) => {
    const refused = sees.refusal(new RegExp(`${code}.*next`, 'is'))
    const unchanged = sees.text(counterIs(0))
    expect(outcome.results, outcome.ended.stderr).toEqual([unchanged, refused, unchanged])
    expect(outcome.writes).toBe(0)
    const states = outcome.executions.map((one) => one.state)
    expect(states).toEqual(['succeeded', 'refused', 'succeeded'])
    expect(outcome.approvals.map((one) => one.state)).toEqual([state])
  }

  clientTest(
    'denied, the model is told so and what to do next, and nothing is sent',
    { verb: 'deny', afterMs: 100 },
    expectNothingSent('approval_denied', 'denied'),
  )

  clientTest(
    'decided by nobody, the model is told so and what to do next, and nothing is sent',
    { verb: 'leave', afterMs: 0, settings: { approvalTtlSeconds: 10 } },
    expectNothingSent('approval_expired', 'expired'),
  )
}

/** Refused when the client said that it gives up. Held back when it only left, and asked again before that was noticed. */
function isTakenBack({ state, code, caller }: DecidedWrite['executions'][number]): boolean {
  if (state === 'refused') return code === 'call_cancelled'
  return state === 'awaiting_approval' && caller === 'held_back'
}

/** The answer of a call that was taken over has one text more. */
function expectCollected(name: AgentName, { results, writes, ended }: DecidedWrite): void {
  const { sees } = agents[name]
  expect(results[0], ended.stderr).toEqual(sees.text(counterIs(0)))
  expect(results.at(-1)).toEqual(sees.text(counterIs(1)))
  expect(JSON.stringify(results.at(-2))).toContain(added)
  for (const waited of results.slice(1, -2)) expect(JSON.stringify(waited)).toMatch(noAnswerYet)
  expect(writes).toBe(1)
}
