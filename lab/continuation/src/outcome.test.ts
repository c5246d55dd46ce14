import { expect, test } from 'vitest'
import { classify, countOutcomes, type Observed } from './outcome.ts'

const answer = 'word-1'
const fine: Observed = {
  calls: 1,
  asked: 1,
  left: false,
  refused: false,
  answered: true,
  told: 'It is stored as word-1.',
  wentOn: true,
  answer,
}

test.each([
  ['the answer reached the model and the next step was taken', {}, 'accepted-and-continued'],
  ['the answer reached the model and nothing followed', { wentOn: false }, 'accepted-but-ignored'],
  ['the answer was sent and the model never saw it', { told: undefined }, 'accepted-but-ignored'],
  [
    'the client told of a timeout of its own and left',
    { left: true, answered: false, told: 'timed out' },
    'client-closed',
  ],
  [
    'the client told of a timeout while the answer was on its way',
    { told: 'timed out' },
    'client-closed',
  ],
  ['the client ended', { left: true, answered: false, told: undefined }, 'client-closed'],
  ['the client sent it twice, whatever came of it', { calls: 2 }, 'client-retried'],
  ['the model wanted it twice', { calls: 2, asked: 2 }, 'accepted-and-continued'],
  ['we refused it', { refused: true, answered: false, told: 'denied' }, 'settled-error'],
  ['nothing was seen', { answered: false, told: undefined, wentOn: false }, 'no-signal'],
] as const)('%s', (_what, change, outcome) => {
  expect(classify({ ...fine, ...change })).toBe(outcome)
})

test('every outcome is counted, those that did not happen too', () => {
  expect(countOutcomes(['client-closed', 'no-signal', 'client-closed'])).toEqual({
    'accepted-and-continued': 0,
    'accepted-but-ignored': 0,
    'client-closed': 2,
    'client-retried': 0,
    'settled-error': 0,
    'no-signal': 1,
  })
})
