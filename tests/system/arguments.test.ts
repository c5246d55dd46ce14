/** Arguments, from the bytes a guest writes to the bytes an upstream reads: limits, fixed ones, exactness, dialects. */
import { spawnSync } from 'node:child_process'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectAndGrant, type OpenSession } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { type ScriptedTool, startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'
import { type Era, RawGuest } from './raw-guest.ts'

const text = { type: 'string' }
const tools: readonly ScriptedTool[] = [
  {
    name: 'transfer',
    description: 'Moves money.',
    inputSchema: {
      type: 'object',
      properties: {
        account: { ...text, description: 'where from' },
        amount: { type: 'number', exclusiveMinimum: 0 },
        region: { enum: ['north', 'south', 'east'] },
        note: text,
      },
      required: ['account', 'amount'],
      additionalProperties: false,
    },
  },
  {
    name: 'combined',
    inputSchema: {
      type: 'object',
      $ref: '#/$defs/base',
      properties: { a: text },
      anyOf: [{ required: ['a'] }, { required: ['b'] }],
      oneOf: [{ required: ['b'] }, { not: { required: ['b'] } }],
      allOf: [{ properties: { b: { maxLength: 5 } } }],
      not: { required: ['c'] },
      if: { not: { required: ['b'] } },
      else: { required: ['a'] },
      $defs: { base: { type: 'object', properties: { b: text } } },
    },
  },
  {
    name: 'pair',
    inputSchema: {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: {
        pair: { type: 'array', items: [text, { type: 'integer' }], additionalItems: false },
      },
      required: ['pair'],
    },
  },
  {
    name: 'matched',
    inputSchema: { type: 'object', properties: { word: { ...text, pattern: '^(a+)+$' } } },
  },
  { name: 'open', inputSchema: { type: 'object', additionalProperties: true } },
]

const limits = {
  schema: {
    properties: { amount: { maximum: 100 }, region: { enum: ['north', 'south'] } },
    anyOf: [{ required: ['note'] }, { properties: { amount: { maximum: 10 } } }],
  },
  fixed: { account: 'ours-7' },
}

let upstream: Upstream
let sallyport: Sallyport
let session: OpenSession
beforeAll(async () => {
  upstream = await startUpstream({ tools })
  sallyport = await startSallyport()
  const { url } = upstream
  const read = ['combined', 'pair', 'matched', 'open']
  await connectAndGrant(sallyport, { name: 'bank', url, profile: 'p', read: [...read, 'transfer'] })
  await sallyport.api('profile.revoke', { name: 'p' }, { connection: 'bank', tools: 'transfer' })
  const grant = { connection: 'bank', tools: 'transfer', mode: 'read', limits } as const
  await sallyport.api('profile.grant', { name: 'p' }, grant)
  session = await openSession()
})
afterAll(async () => {
  await sallyport?.remove()
  await upstream?.close()
})

const openSession = () => sallyport.api('session.create', {}, { profile: 'p' })

function guestOf({ token }: OpenSession, era: Era = 'modern'): RawGuest {
  return new RawGuest({ endpoint: `${sallyport.guestUrl}/mcp/bank`, token, era })
}

const callsSeen = () => upstream.count('tools/call')

/** The arguments of the newest call, byte for byte. */
function argumentsSeen(): string | undefined {
  const { text = '' } = upstream.requests.findLast(({ method }) => method === 'tools/call') ?? {}
  return /"arguments":(\{.*?\})(?:,"_meta"|\}\})/.exec(text)?.[1]
}

test.each(['legacy', 'modern'] as const)(
  '%s: arguments outside the limits are refused by a result that names the field, and nothing leaves',
  async (era) => {
    const guest = guestOf(session, era)
    const before = callsSeen()
    const answer = await guest.call('transfer', '{"amount":101,"note":"n"}')
    expect(answer).toMatchObject({
      isError: true,
      failure: { code: 'arguments_refused', field: '/amount', detail: 'must be at most 100' },
    })
    expect(answer.text).toContain('Field: /amount')
    expect(await guest.call('transfer', '{"amount":5,"region":"east"}')).toMatchObject({
      failure: { code: 'arguments_refused', field: '/region' },
    })
    expect(await guest.call('transfer', '{"amount":11}')).toMatchObject({
      failure: { code: 'arguments_refused', field: '' },
    })
    expect(callsSeen()).toBe(before)
    const { items } = await sallyport.api('execution.list', { session: session.id, limit: 3 })
    for (const row of items)
      expect(row).toMatchObject({ state: 'refused', intentId: null, barrierAt: null })
    expect(items.map(({ field }) => field)).toEqual(['', '/region', '/amount'])
    expect(await guest.call('transfer', '{"amount":11,"note":"n","region":"south"}')).toMatchObject(
      { isError: false, text: 'ok' },
    )
    expect(callsSeen()).toBe(before + 1)
  },
)

test('a refusal needs no worker: it comes while the worker stands still', async () => {
  const worker = sallyport.workerPid() as number
  process.kill(worker, 'SIGSTOP')
  try {
    const guest = guestOf(session)
    expect(await guest.call('transfer', '{"amount":101,"note":"n"}')).toMatchObject({
      failure: { code: 'arguments_refused', field: '/amount' },
    })
  } finally {
    process.kill(worker, 'SIGCONT')
  }
})

const forbidden = ['$ref', '$dynamicRef', 'anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const', 'if']

interface ShownTool {
  readonly name: string
  readonly description?: string
  readonly inputSchema: Record<string, unknown> & { readonly properties: Record<string, unknown> }
}

async function shown(era: Era): Promise<{ text: string; tools: ShownTool[] }> {
  const { text, result } = await guestOf(session, era).ask('tools/list')
  return { text, tools: result?.['tools'] as ShownTool[] }
}

test.each(['legacy', 'modern'] as const)(
  '%s: tools/list shows the limits, and no schema has a combinator at its top',
  async (era) => {
    const { tools } = await shown(era)
    expect(tools.map(({ name }) => name)).toEqual([
      'combined',
      'matched',
      'open',
      'pair',
      'transfer',
    ])
    for (const { name, inputSchema } of tools) {
      expect(inputSchema['type'], name).toBe('object')
      expect(
        Object.keys(inputSchema).filter((key) => forbidden.includes(key)),
        name,
      ).toEqual([])
    }
    const transfer = tools.at(-1)
    expect(transfer?.inputSchema).toMatchObject({
      properties: {
        amount: { type: 'number', exclusiveMinimum: 0, maximum: 100 },
        region: { enum: ['north', 'south'] },
        note: text,
      },
      required: ['amount'],
      additionalProperties: false,
    })
    // What no flat schema can say is said in words.
    expect(transfer?.description).toContain('"anyOf":[{"required":["note"]}')
  },
)

test('the official client takes every schema, and what it lists can be called', async () => {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: 'auto' } },
  )
  const requestInit = { headers: { authorization: `Bearer ${session.token}` } }
  const url = new URL(`${sallyport.guestUrl}/mcp/bank`)
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }))
  try {
    expect((await client.listTools()).tools).toHaveLength(5)
    const given = { name: 'combined', arguments: { a: 'x' } }
    expect((await client.callTool(given)).isError ?? false).toBe(false)
    expect((await client.callTool({ name: 'combined', arguments: { b: 'x' } })).isError).toBe(true)
  } finally {
    await client.close()
  }
})

test.each(['legacy', 'modern'] as const)(
  '%s: a fixed argument is not shown, is refused from the guest, and arrives upstream',
  async (era) => {
    const { text } = await shown(era)
    expect(text).not.toContain('account')
    expect(text).not.toContain('ours-7')
    const guest = guestOf(session, era)
    const before = callsSeen()
    for (const account of ['theirs-1', 'ours-7'])
      expect(await guest.call('transfer', `{"account":"${account}","amount":1}`)).toMatchObject({
        isError: true,
        failure: { code: 'arguments_refused', field: '/account', detail: 'is not known' },
      })
    expect(callsSeen()).toBe(before)
    expect(await guest.call('transfer', '{"amount":1}')).toMatchObject({ isError: false })
    expect(argumentsSeen()).toBe('{"account":"ours-7","amount":1}')
  },
)

test.each([
  ['a 64-bit integer', '{"deep":[{"id":9007199254740993}]}', '/deep/0/id'],
  ['a fraction beyond a double', '{"n":0.12345678901234567890}', '/n'],
  ['a number that becomes infinite', '{"n":1e400}', '/n'],
  ['a key given twice', '{"a":1,"a":1}', '/a'],
  ['a key given twice inside', '{"x":{"a":1,"b":2,"a":3}}', '/x/a'],
  ['a key given twice, once escaped', '{"a":1,"\\u0061":1}', '/a'],
  ['half of a surrogate pair', '{"t":"\\ud800"}', '/t'],
  ['a name that reaches prototypes', '{"x":{"__proto__":1}}', '/x/__proto__'],
])('%s is refused with its path', async (_what, argumentsText, field) => {
  const before = callsSeen()
  expect(await guestOf(session).call('open', argumentsText)).toMatchObject({
    isError: true,
    failure: { code: 'arguments_not_exact', field },
  })
  expect(callsSeen()).toBe(before)
})

test.each(['legacy', 'modern'] as const)(
  '%s: arguments arrive as canonical bytes, whatever their order and spelling',
  async (era) => {
    const written = [
      '{"é":"\\u00e9","b":1.0,"a":{"z":1E2,"y":-0.50},"big":9007199254740992}',
      ' { "big" : 9.007199254740992e15 , "a" : { "y" : -5e-1, "z" : 100.0 } , "b" : 1 , "\\u00e9" : "é" } ',
    ]
    for (const argumentsText of written) {
      expect(await guestOf(session, era).call('open', argumentsText)).toMatchObject({ text: 'ok' })
      expect(argumentsSeen()).toBe('{"a":{"y":-0.5,"z":100},"b":1,"big":9007199254740992,"é":"é"}')
    }
    const { items } = await sallyport.api('execution.list', { session: session.id, limit: 2 })
    expect(items[0]?.argumentsDigest).toBe(items[1]?.argumentsDigest)
  },
)

test('a draft-07 tuple is shown and enforced as draft-07', async () => {
  const { tools } = await shown('modern')
  expect(tools.find(({ name }) => name === 'pair')?.inputSchema).toMatchObject({
    $schema: 'http://json-schema.org/draft-07/schema#',
    properties: { pair: { items: [text, { type: 'integer' }], additionalItems: false } },
  })
  const guest = guestOf(session)
  expect(await guest.call('pair', '{"pair":["x",1]}')).toMatchObject({ isError: false })
  const refusals = { '["x","1"]': '/pair/1', '[1,1]': '/pair/0', '["x",1,2]': '/pair' }
  for (const [pair, field] of Object.entries(refusals))
    expect(await guest.call('pair', `{"pair":${pair}}`)).toMatchObject({
      failure: { code: 'arguments_refused', field },
    })
})

const long = 'a'.repeat(5_000)

test('a pattern that backtracks for ever is judged at once, and other sessions go on', async () => {
  const other = guestOf(await openSession(), 'legacy')
  const guest = guestOf(session)
  const started = performance.now()
  const [refused, passed] = await Promise.all([
    Promise.all(Array.from({ length: 10 }, () => guest.call('matched', `{"word":"${long}!"}`))),
    Promise.all(Array.from({ length: 20 }, () => other.call('open', '{"n":1}'))),
  ])
  expect(performance.now() - started).toBeLessThan(10_000)
  for (const answer of refused)
    expect(answer.failure).toMatchObject({ code: 'arguments_refused', field: '/word' })
  for (const answer of passed) expect(answer).toMatchObject({ isError: false, text: 'ok' })
  expect(await guest.call('matched', `{"word":"${long}"}`)).toMatchObject({ isError: false })
})

test('the control: the engine of the language does not come to an end with that pattern', () => {
  const script = `/^(a+)+$/.test('${long}!')`
  const { signal } = spawnSync(process.execPath, ['-e', script], { timeout: 2_000, env: {} })
  expect(signal).toBe('SIGTERM')
})
