/** Results over the limit of their connection, from the upstream to the guest and the journal. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectAndGrant, type OpenSession } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { type ScriptedTool, startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'
import { RawGuest } from './raw-guest.ts'

const limit = 4_096
const long = 'é'.repeat(20_000)
const result = { content: [{ type: 'text', text: long }], structuredContent: { long } }
const saying = (name: string, more: object = {}): ScriptedTool => ({
  name,
  ...more,
  run: ({ state }) => {
    state.effects++
    return { result }
  },
})

let upstream: Upstream
let sallyport: Sallyport
let session: OpenSession
beforeAll(async () => {
  const outputSchema = { type: 'object', properties: { long: { type: 'string' } } }
  upstream = await startUpstream({
    tools: [saying('look'), saying('act'), saying('typed', { outputSchema })],
  })
  sallyport = await startSallyport()
  session = await connectAndGrant(sallyport, {
    name: 'files',
    url: upstream.url,
    profile: 'dev',
    limits: { resultBytes: limit },
    read: ['look', 'typed'],
    write: ['act'],
    unattended: true,
    settings: { interactive: false, keepReads: true },
  })
}, 60_000)
afterAll(async () => {
  await sallyport?.remove()
  await upstream?.close()
})

const guest = (era: 'legacy' | 'modern') =>
  new RawGuest({ endpoint: `${sallyport.guestUrl}/mcp/files`, token: session.token, era })

const whole = Buffer.byteLength(JSON.stringify(result))
const executions = async () => (await sallyport.api('execution.list')).items

test.each([
  ['a read', 'look', 'To see more, ask for less at a time or for a part.'],
  ['a write', 'act', 'Do not repeat it.'],
])(
  '%s is cut: its guest sees a beginning and a mark, the journal the whole',
  async (_, tool, next) => {
    const before = upstream.effects
    const { result: passed } = await guest('modern').ask(
      'tools/call',
      `{"name":"${tool}","arguments":{}}`,
    )
    expect(upstream.effects).toBe(before + 1)
    expect(Buffer.byteLength(JSON.stringify(passed))).toBeLessThanOrEqual(limit)
    expect(passed).toMatchObject({ resultType: 'complete' })
    expect(passed).not.toHaveProperty('structuredContent')
    expect(passed).not.toHaveProperty('isError')
    const { content } = passed as { content: [{ text: string }, { text: string }] }
    const [{ text }, { text: mark }] = content
    expect(text).toMatch(/^é{1400,}$/)
    const [row] = await executions()
    expect(row).toMatchObject({ tool, state: 'succeeded', code: null })
    expect(row?.resultBytes).toBeGreaterThanOrEqual(whole)
    expect(mark).toContain(`it has ${row?.resultBytes} bytes, the limit is ${limit}`)
    expect(mark).toContain(`The call was done. ${next} Execution: ${row?.id}`)
  },
)

test('what a schema promises is not cut: its guest is told that it was done', async () => {
  const { isError, failure, text } = await guest('legacy').call('typed')
  expect(isError).toBe(true)
  expect(text).toContain('its result is larger than the limit')
  expect(failure).toBeUndefined()
  const [row] = await executions()
  expect(row).toMatchObject({ tool: 'typed', state: 'succeeded', code: 'result_too_large' })
})
