/**
 * The rules of the way of a write, searched whole: every order of steps of two gateways, a worker, people and faults,
 * within the bounds that each test names. Then each rule is taken away, and the search must find what it is for.
 */
import { describe, expect, test, vi } from 'vitest'
import { hasSpin, search } from './run-spin.ts'

vi.setConfig({ testTimeout: 120_000 })

const isThere = hasSpin()
const unlessAbsent = isThere ? '' : ' (spin is not installed)'
const isThorough = process.env['SALLYPORT_TEST_ALL'] === '1'

test.runIf(process.env['SALLYPORT_REQUIRE_SPIN'] === '1')('spin is installed', () => {
  expect(isThere).toBe(true)
})

/** `least` is a little under what was seen: a model that shrinks has lost something. */
interface Bounds {
  readonly switches: string
  readonly least: number
}

const bounds: readonly Bounds[] = [
  { switches: 'CALLS=1 FAULTS=2', least: 1_150_000 },
  { switches: 'CALLS=1 TRIES=1 FAULTS=3', least: 920_000 },
  { switches: 'CALLS=1 FAULTS=1 REVOCATION', least: 110_000 },
  { switches: 'CALLS=2 FAULTS=0 REVOCATION', least: 183_000 },
  { switches: 'CALLS=2 TRIES=1 FAULTS=1 STEADY NO_PAUSE', least: 760_000 },
  { switches: 'CALLS=2 TRIES=1 KEYS=2 FAULTS=0', least: 268_000 },
]

const widerBounds: readonly Bounds[] = [
  { switches: 'CALLS=2 TRIES=1 KEYS=2 FAULTS=1 STEADY NO_PAUSE', least: 2_300_000 },
  { switches: 'CALLS=1 FAULTS=3', least: 11_000_000 },
  { switches: 'CALLS=2 TRIES=1 FAULTS=1', least: 5_500_000 },
  { switches: 'CALLS=2 FAULTS=1 STEADY NO_PAUSE', least: 4_000_000 },
  { switches: 'CALLS=2 TRIES=1 FAULTS=2 STEADY NO_PAUSE', least: 7_900_000 },
  { switches: 'CALLS=3 TRIES=1 FAULTS=0', least: 9_000_000 },
]

interface Broken {
  /** The rule that is taken away, as the model calls it. */
  readonly rule: string
  readonly law: string
  readonly switches?: string
}

/** Holes that earlier wordings of the rules had. */
const holes: readonly Broken[] = [
  { rule: 'FENCE_OF_UNSEEN', law: 'applied_only_while_dispatching' },
  { rule: 'FENCE_OF_HELD', law: 'not_sent_was_not_applied' },
  { rule: 'QUESTION_OF_INTENT', law: 'not_sent_was_not_applied', switches: 'FAULTS=2' },
  { rule: 'MEMORY', law: 'not_sent_was_not_applied' },
  { rule: 'OWN_RECOVERY', law: 'nothing_stays_dispatching' },
  { rule: 'KEY', law: 'nothing_sent_beside_an_unknown', switches: 'CALLS=2 TRIES=1 FAULTS=0' },
  { rule: 'SWEEP', law: 'approval_younger_than_unknown', switches: 'CALLS=2 TRIES=1 FAULTS=0' },
  { rule: 'HELD_BACK', law: 'no_barrier_for_a_caller_that_left' },
]

const others: readonly Broken[] = [
  {
    rule: 'ADMISSION',
    law: 'applied_only_while_dispatching',
    switches: 'CALLS=2 TRIES=1 FAULTS=0',
  },
  { rule: 'ADOPTION', law: 'nothing_stays_dispatching' },
  { rule: 'AUDIENCE', law: 'not_sent_was_not_applied' },
  { rule: 'AUTHORITY_LOCK', law: 'no_barrier_after_revocation', switches: 'FAULTS=0 REVOCATION' },
  { rule: 'CAS', law: 'final_for_ever' },
  { rule: 'CLOCK', law: 'applied_only_while_dispatching' },
  { rule: 'CONSUMPTION', law: 'approval_consumed_once' },
  { rule: 'DECISION', law: 'applied_only_while_dispatching' },
  { rule: 'ONCE', law: 'applied_at_most_once' },
  { rule: 'ONE_TRANSACTION', law: 'approval_consumed_in_its_barrier' },
  { rule: 'OUTCOME_OF_INTENT', law: 'applied_only_while_dispatching', switches: 'FAULTS=2' },
  { rule: 'PATIENCE', law: 'applied_only_while_dispatching' },
]

const situations = [
  ['OTHER_GATEWAY', 'FAULTS=1'],
  ['SECOND_INTENT', 'FAULTS=1'],
  ['RESULT_ELSEWHERE', 'FAULTS=1'],
  ['LATE_COMMIT', 'FAULTS=1'],
  ['RETRY', 'CALLS=2 TRIES=1 FAULTS=0'],
  ['BATCH', 'CALLS=2 TRIES=1 KEYS=2 FAULTS=0'],
] as const

describe.skipIf(!isThere)(`the model of a write${unlessAbsent}`, () => {
  test.each(bounds)('keeps every law within $switches', keepsEveryLaw)

  test.runIf(isThorough).each(widerBounds)(
    'keeps every law within $switches',
    keepsEveryLaw,
    900_000,
  )

  test('comes to an end in every run', async () => {
    const { broken, steps } = await search(['FAULTS=1'], { look: 'cycles' })
    expect({ broken, steps }).toEqual({ broken: undefined, steps: [] })
    const endless = await search(['FAULTS=1', 'BREAK_END'], { look: 'cycles' })
    expect(endless.broken).toBe('non-progress cycle')
  })

  test.each(holes)('without the rule $rule a law fails: $law', breaks)

  test.each(others)('without the rule $rule a law fails: $law', breaks)

  test.each(situations)('reaches the situation %s within %s', async (situation, switches) => {
    const { broken } = await search([...switches.split(' '), `REACH_${situation}`], {
      look: 'shortest',
    })
    expect(broken).toBe('not_reached')
  })
})

async function keepsEveryLaw({ switches, least }: Bounds): Promise<void> {
  const { broken, steps, states } = await search(switches.split(' '), { look: 'every' })
  expect({ broken, steps }).toEqual({ broken: undefined, steps: [] })
  expect(states).toBeGreaterThan(least)
}

async function breaks({ rule, law, switches = 'FAULTS=1' }: Broken): Promise<void> {
  const { broken, steps } = await search([...switches.split(' '), `BREAK_${rule}`], {
    look: 'shortest',
  })
  expect(broken).toBe(law)
  expect(steps.length).toBeGreaterThan(0)
}
