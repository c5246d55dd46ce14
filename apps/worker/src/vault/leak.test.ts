/** A server that says the credential it was given: the call was done, the answer is withheld. */
import { afterEach, expect, test } from 'vitest'
import {
  defaultTools,
  type ScriptedTool,
  startUpstream,
  text,
} from '../../../../tests/upstreams/scripted-upstream.ts'
import { Bench } from '../testing/bench.ts'
import type { ConnectionOptions } from '../testing/scripted-gateway.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

const token = 'SENTINEL-token-0123456789'
const header = 'SENTINEL-header-"é"-0123456789'
const path = '/mcp/SENTINEL-path-0123456789'
const query = 'SENTINEL-query-0123456789'
const secrets = [token, header, 'SENTINEL-path-0123456789', query]

/** Says whatever it is asked to say; writing counts as an effect. */
const says: ScriptedTool = {
  name: 'says',
  run: ({ state, arguments: { this: words } }) => {
    state.effects++
    return text(String(words))
  },
}
const errs: ScriptedTool = {
  name: 'errs',
  run: ({ arguments: { this: words } }) => ({ error: { code: -32000, message: String(words) } }),
}
const progresses: ScriptedTool = {
  name: 'progresses',
  run: ({ progress, arguments: { this: words } }) => {
    progress(1, 2, 'harmless')
    progress(2, 2, String(words))
    return text('done')
  },
}

async function start(options: Partial<ConnectionOptions> = {}) {
  const upstream = await startUpstream({
    path: `${path}?key=${query}`,
    tools: [...defaultTools, says, errs, progresses],
  })
  const headers = [{ name: 'X-Key', value: header }]
  const bench = await Bench.start({ url: upstream.url, token, headers, ...options })
  open.push(upstream, { close: () => bench.stop() })
  await bench.review()
  return { upstream, bench }
}

const withheld = { verdict: 'result', code: 'credential_in_result', withheld: 'credential' }

test.each(secrets)('%s is withheld in a result, and the effect is known', async (secret) => {
  const { upstream, bench } = await start()
  const { head, raw } = await bench.call('says', { this: `it is ${secret}.` }, { access: 'write' })
  expect(head).toMatchObject({ ...withheld, bytes: expect.any(Number), digest: expect.any(String) })
  expect(raw).toHaveLength(0)
  expect(upstream.effects).toBe(1)
  const control = await bench.call('says', { this: `it is ${secret.slice(0, 9)}.` })
  expect(control.head.code).toBeUndefined()
})

test.each(secrets)('%s is withheld in a result that is cut, wherever it is cut', async (secret) => {
  const { bench } = await start()
  const limits = { resultBytes: 2_048, callMs: 5_000, verifyWithinMs: 300_000 }
  const says = (before: number) => {
    const words = `${'x'.repeat(before)}${secret}${'y'.repeat(4_000)}`
    return bench.call('says', { this: words }, { limits, cut: true })
  }
  const control = await says(2_000)
  expect(control.head).toMatchObject({ isCut: true })
  const cutAt = JSON.parse(control.raw.toString()).content[0].text.length
  for (const there of [1, 5, secret.length - 1]) {
    const { head, raw } = await says(cutAt - there)
    expect(head).toMatchObject(withheld)
    expect(raw).toHaveLength(0)
  }
})

test.each(['raw', 'percent', 'base64'])('an echoed credential is withheld: %s', async (as) => {
  const { bench } = await start()
  expect((await bench.call('leak', { as })).head).toMatchObject(withheld)
})

test('headers and addresses that are told back are withheld', async () => {
  const { bench } = await start()
  expect((await bench.call('whoami')).head).toMatchObject(withheld)
})

test('a credential in a protocol error is withheld', async () => {
  const { bench } = await start()
  const { head, raw } = await bench.call('errs', { this: token })
  expect(head).toMatchObject({ ...withheld, rpcError: true })
  expect(raw).toHaveLength(0)
  expect((await bench.call('errs', { this: 'harmless' })).head.code).toBeUndefined()
})

test('a credential in the words of progress is left out', async () => {
  const { bench } = await start()
  const { id } = bench.gateway.submit(
    bench.order('progresses', { this: `at ${token}` }, { progress: true }),
  )
  await bench.gateway.result(id)
  expect(bench.gateway.progress(id)).toEqual([
    { intent: id, progress: 1, total: 2, message: 'harmless' },
    { intent: id, progress: 2, total: 2 },
  ])
})

test('no secret is in any frame but sealed, and none in the log, whatever goes wrong', async () => {
  const { upstream, bench } = await start()
  const faults = [
    { kind: 'status', status: 401, body: token },
    { kind: 'status', status: 500, body: token },
    { kind: 'redirect', to: `http://127.0.0.1:1/${token}` },
    { kind: 'cut' },
    { kind: 'raw', body: () => token },
  ] as const
  for (const fault of faults) {
    upstream.misbehave(fault, { method: 'tools/call' })
    await bench.call('says', { this: token })
    upstream.behave()
    upstream.misbehave(fault, { method: 'tools/list' })
    await bench.gateway.order({ connection: bench.connection })
    upstream.behave()
    upstream.misbehave(fault)
    await bench.gateway.order({ connection: bench.connection })
    upstream.behave()
  }
  await upstream.close()
  await bench.call(
    'says',
    { this: token },
    { limits: { resultBytes: 1, callMs: 1_000, verifyWithinMs: 0 } },
  )
  const said = bench.gateway.frames.map(({ head, raw }) => JSON.stringify(head) + raw.toString())
  for (const secret of secrets) {
    expect(said.filter((frame) => frame.includes(secret))).toEqual([])
    expect(bench.worker.log).not.toContain(secret)
  }
  expect(said.length).toBeGreaterThan(16)
})
