import { SallyportError, type SandboxEvidence } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import { keepPulse, type PulseOptions } from './pulse.ts'

const evidence = { version: 1 } as SandboxEvidence
type Heard = Awaited<ReturnType<PulseOptions['port']['hear']>>
const open: Heard = { id: 'ses_1', state: 'open', endReason: null, prove: false, denySet: 0 }

/** Answers in this order, the last again and again; an error is thrown. */
function pulse(answers: readonly (Heard | Error)[], timing = {}) {
  const shown: unknown[] = []
  const stop = new AbortController()
  let count = 0
  const port = {
    hear: async () => {
      const answer = answers[Math.min(count++, answers.length - 1)] ?? open
      if (answer instanceof Error) throw answer
      if (count > 50) stop.abort()
      return answer
    },
    show: async (_id: string, body: unknown) => {
      shown.push(body)
      return {} as Awaited<ReturnType<PulseOptions['port']['show']>>
    },
  }
  const denied: number[] = []
  const options = {
    ...{ port, session: 'ses_1', ownerKey: 'k' },
    look: async () => evidence,
    denied: async (revision: number) => void denied.push(revision),
  }
  const fast = { everyMs: 1, withoutGatewayMs: 60_000, ...timing }
  return {
    end: keepPulse({ ...options, timing: fast }, stop.signal),
    shown,
    denied,
    stop,
    count: () => count,
  }
}

const unreachable = new SallyportError('unreachable')

test('goes on until it is stopped', async () => {
  const { end, count } = pulse([open])
  expect(await end).toEqual({ why: 'stopped' })
  expect(count()).toBe(51)
})

test('hears that the session is ending, and why', async () => {
  const ending: Heard = { ...open, state: 'closing', endReason: 'idle' }
  expect(await pulse([open, ending]).end).toEqual({ why: 'session_ended', reason: 'idle' })
})

test('proves the sandbox again whenever it is asked to', async () => {
  const { end, shown } = pulse([open, { ...open, prove: true }, open])
  await end
  expect(shown).toEqual([{ ownerKey: 'k', evidence }])
})

test('hears at every beat what is denied, before it shows anything', async () => {
  const { end, denied, shown } = pulse([open, { ...open, denySet: 3, prove: true }, open])
  await end
  expect(denied.slice(0, 3)).toEqual([0, 3, 0])
  expect(shown).toHaveLength(1)
})

test('bears with a gateway that is away, and gives up when it stays away', async () => {
  const starting = new SallyportError('starting')
  expect(await pulse([open, unreachable, starting, open]).end).toEqual({ why: 'stopped' })
  const away = pulse([open, unreachable], { withoutGatewayMs: 20 })
  expect(await away.end).toEqual({ why: 'gateway_gone' })
})

test.each(['not_the_owner', 'evidence_mismatch', 'not_found', 'internal'] as const)(
  'gives up at once when it is refused with %s',
  async (code) => {
    const error = new SallyportError(code)
    expect(await pulse([open, error]).end).toEqual({ why: 'refused', error })
  },
)
