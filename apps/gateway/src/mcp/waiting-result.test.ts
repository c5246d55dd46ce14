import { expect, test } from 'vitest'
import { boundTool } from './scripted-core.ts'
import { type Waiting, waitingResult } from './waiting-result.ts'

const executionId = 'exe_00000000000000000000000000' as Waiting['executionId']
const kinds = ['person', 'identical_call', 'answer'] as const

test('says what is waited for, the execution and how to collect, in text and structure alike', () => {
  const message =
    'This is not an error. A person has been asked to approve this call and has not decided yet. Nothing was sent.'
  const next =
    'Tell the user that an approval waits (`sallyport approvals watch`). To collect the outcome, call again with exactly the same arguments, or call x__wait with {"executionId":"exe_00000000000000000000000000"}. Do not try to reach the same by another way.'
  const waiting: Waiting = { kind: 'waiting', executionId, for: 'person' }
  expect(waitingResult(waiting, boundTool(), 'x__wait')).toEqual({
    content: [
      { type: 'text', text: `waiting: ${message}\nExecution: ${executionId}\nNext: ${next}` },
    ],
    structuredContent: { waiting: { for: 'person', message, executionId, next } },
  })
})

test('says of each kind something else, and what was sent', () => {
  const texts = kinds.map((kind) => {
    const result = waitingResult(
      { kind: 'waiting', executionId, for: kind },
      boundTool(),
      undefined,
    )
    return JSON.stringify(result)
  })
  expect(new Set(texts).size).toBe(kinds.length)
  const nothing = texts.map((text) => text.includes('Nothing was sent'))
  expect(nothing).toEqual([true, true, false])
})

test('is marked as an error, without structure, where the tool promised one of another shape', () => {
  const typed = boundTool({ outputSchema: { type: 'object' } })
  const result = waitingResult({ kind: 'waiting', executionId, for: 'person' }, typed, undefined)
  expect(Object.keys(result)).toEqual(['content', 'isError'])
  expect(result).toMatchObject({ isError: true })
})

test('names no other tool where there is none', () => {
  const waiting: Waiting = { kind: 'waiting', executionId, for: 'person' }
  const { content } = waitingResult(waiting, boundTool(), undefined) as { content: object[] }
  expect(content).toMatchObject([
    { text: expect.stringContaining('with exactly the same arguments. Do not try') },
  ])
})
