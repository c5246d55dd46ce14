import { expect, test } from 'vitest'
import { SteppedClock } from '../testing/stepped-clock.ts'
import { type OwnCertificate, watchCertificate } from './renewed-certificate.ts'

const own = (name: string): OwnCertificate => ({ certificatePem: name, privateKeyPem: 'key' })
const every = 600_000

function watched() {
  const clock = new SteppedClock()
  const state = { there: own('a') as OwnCertificate | Error, used: [] as string[], refuses: '' }
  const logged: unknown[][] = []
  const end = watchCertificate({
    used: own('a'),
    read: () => {
      if (state.there instanceof Error) throw state.there
      return state.there
    },
    use: ({ certificatePem }) => {
      if (certificatePem === state.refuses) throw new Error('the key is of another certificate')
      state.used.push(certificatePem)
    },
    clock,
    log: { write: (...words) => logged.push(words) },
  })
  return { clock, state, logged, end }
}

test('what is on disk is used once it is another', () => {
  const { clock, state, logged, end } = watched()
  clock.step(every)
  expect(state.used).toEqual([])
  state.there = own('b')
  clock.step(every)
  clock.step(every)
  expect(state.used).toEqual(['b'])
  expect(logged).toEqual([['certificate_renewed']])
  end()
  state.there = own('c')
  clock.step(every)
  expect(state.used).toEqual(['b'])
  expect(clock.waiting).toBe(0)
})

test('what cannot be read or used is told once and tried again', () => {
  const { clock, state, logged } = watched()
  state.there = new Error('no such file')
  clock.step(every)
  clock.step(every)
  state.there = own('b')
  state.refuses = 'b'
  clock.step(every)
  clock.step(every)
  expect(logged).toEqual([
    ['certificate_unusable', { because: 'Error: no such file' }],
    ['certificate_unusable', { because: 'Error: the key is of another certificate' }],
  ])
  state.refuses = ''
  clock.step(every)
  expect(state.used).toEqual(['b'])
})
