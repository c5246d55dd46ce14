/** Who answers an agent at a terminal, and what is heard of the agent while a question stands. */
import { PassThrough } from 'node:stream'
import { AcpConversation, type AcpEvent } from '@sallyport/launcher'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Run } from '../run.ts'
import { until } from '../testing/until.ts'
import { AcpOwner, heldAtMost } from './acp-owner.ts'

const terminal = () => Object.assign(new PassThrough(), { isTTY: true })
let stdin: ReturnType<typeof terminal>
let stdout: ReturnType<typeof terminal>
let stderr: ReturnType<typeof terminal>
let shown: string
let over: AbortController

beforeEach(() => {
  ;[stdin, stdout, stderr] = [terminal(), terminal(), terminal()]
  shown = ''
  for (const output of [stdout, stderr])
    output.setEncoding('utf8').on('data', (text: string) => {
      shown += text
    })
  over = new AbortController()
})
afterEach(() => over.abort())

const world = () => ({ stdin, stdout, stderr }) as unknown as Run['world']
const owner = (): AcpOwner =>
  new AcpOwner({
    run: { world: world() } as Run,
    session: 's',
    policy: 'ask',
    over: over.signal,
    interrupted: () => undefined,
  })
const fetches = {
  title: 'look outside',
  kind: 'fetch',
  sessionTool: undefined,
  isOfServer: false,
}
const isAsked = (): boolean => shown.includes('[y/N] ')
const text = (said: string): AcpEvent => ({ kind: 'text', text: said })

/** An agent that has asked in its turn; answers come as lines. */
async function asking() {
  const [fromUs, toUs] = [new PassThrough(), new PassThrough()]
  const answers: { id?: unknown; method?: string; result?: unknown; error?: unknown }[] = []
  const say = (message: object): void =>
    void toUs.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const results: Record<string, unknown> = {
    initialize: { protocolVersion: 1, agentCapabilities: { loadSession: true } },
    'session/new': { sessionId: 's1' },
    'session/load': {},
  }
  let rest = ''
  fromUs.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const message of lines.map((line) => JSON.parse(line))) {
      answers.push(message)
      const result = results[message.method]
      if (result) say({ id: message.id, result })
    }
  })
  const start = { folder: '/', command: 'node', args: [] }
  const conversation = new AcpConversation({ stdin: fromUs, stdout: toUs }, start, owner())
  const turn = conversation.prompt('x').catch((thrown: unknown) => thrown)
  const prompts = () => answers.filter(({ method }) => method === 'session/prompt')
  await until(() => prompts().length === 1)
  const options = [{ optionId: 'once', kind: 'allow_once' }]
  const toolCall = { toolCallId: 't', title: 'look outside', kind: 'fetch' }
  say({ id: 'q', method: 'session/request_permission', params: { toolCall, options } })
  await until(isAsked)
  for (let at = 0; at < 100; at++) {
    const update = {
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'text', text: `[${at}]` },
    }
    say({ method: 'session/update', params: { update } })
  }
  const answer = () => answers.find(({ id, method }) => id === 'q' && !method)
  const end = async (): Promise<void> => {
    toUs.end()
    await turn
  }
  return { say, answer, prompts, end }
}

test('a question that the agent takes back, after it has said much, is over; then what it said is shown', async () => {
  const { say, answer, end } = await asking()
  say({ method: '$/cancel_request', params: { requestId: 'q' } })
  await until(() => answer() !== undefined)
  expect(answer()).toMatchObject({ error: { code: -32_800 } })
  await until(() => shown.includes('[99]'))
  expect(shown.indexOf('[0]')).toBeGreaterThan(shown.indexOf('[y/N] '))
  await end()
})

test('a question of an agent that was killed, after it has said much, is over, and a yes is answered to nobody', async () => {
  const { say, answer, prompts, end } = await asking()
  say({ method: '_sallyport/started_again' })
  await until(() => prompts().length === 2)
  stdin.write('y\r')
  await end()
  expect(answer()).toBeUndefined()
})

test('while a question stands so much is held back and no more; in order, it is shown once it is answered', async () => {
  const one = owner()
  const answer = one.permits(fetches, over.signal)
  await until(isAsked)
  for (let at = 0; at < heldAtMost.events; at++) await one.told(text(`[${at}]`))
  let isHeard = false
  const more = one.told(text('[more]')).then(() => {
    isHeard = true
  })
  await new Promise(setImmediate)
  expect([isHeard, shown.includes('[0]')]).toEqual([false, false])
  stdin.write('y\r')
  expect(await answer).toBe(true)
  await more
  await until(() => shown.includes('[more]'))
  const told = shown.match(/\[\d+\]|\[more\]/g)
  expect(told).toEqual([...Array.from({ length: 1_000 }, (_, at) => `[${at}]`), '[more]'])
})

test('one text that is longer than what is held back waits for the answer', async () => {
  const one = owner()
  const answer = one.permits(fetches, over.signal)
  await until(isAsked)
  await one.told(text('short'))
  let isHeard = false
  const long = one.told(text('x'.repeat(heldAtMost.letters))).then(() => {
    isHeard = true
  })
  await new Promise(setImmediate)
  expect(isHeard).toBe(false)
  stdin.write('\r')
  expect(await answer).toBe(false)
  await long
})

test('of two questions the first is answered before the second is, and told before it is asked', async () => {
  const one = owner()
  const first = one.permits(fetches, over.signal)
  const second = one.permits({ ...fetches, title: 'elsewhere' }, over.signal)
  await until(isAsked)
  stdin.write('n\r')
  expect(await first).toBe(false)
  await until(() => shown.includes('Allow elsewhere'))
  const [told, asked] = ['refused: look outside\n', 'Allow elsewhere'].map((one) =>
    shown.indexOf(one),
  )
  expect(told).toBeGreaterThan(0)
  expect(told).toBeLessThan(asked ?? 0)
  stdin.write('y\r')
  expect(await second).toBe(true)
})

test('without a question the agent waits for a slow reader', async () => {
  const slow = Object.assign(new PassThrough({ highWaterMark: 1 }), { isTTY: false })
  stdout = slow as typeof stdout
  let isHeard = false
  const told = owner()
    .told(text('long'))
    .then(() => {
      isHeard = true
    })
  await new Promise(setImmediate)
  expect(isHeard).toBe(false)
  slow.resume()
  await told
})
