import { createHash, createPublicKey, X509Certificate } from 'node:crypto'
import type { Order } from '@sallyport/core'
import type { IntentId } from '@sallyport/protocol'
import {
  certificateKid,
  createAuthority,
  digestBytes,
  type Frame,
  type Hello,
  verifyJws,
} from '@sallyport/protocol/node'
import { afterEach, expect, test } from 'vitest'
import { type Clock, systemClock } from './clock.ts'
import type { Identity } from './dial.ts'
import { WorkerLink } from './link.ts'
import {
  helloOf,
  identityOf,
  type ScriptedOptions,
  ScriptedWorker,
  SteppedClock,
} from './scripted-worker.ts'

const running: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of running.splice(0).reverse()) await stop()
})

async function startWorker(options: ScriptedOptions = {}): Promise<ScriptedWorker> {
  const worker = new ScriptedWorker(options)
  await worker.listen()
  running.push(() => worker.stop())
  return worker
}

interface Seen {
  readonly events: unknown[][]
  readonly logged: object[]
  /** Resolves when as many events of that name came. */
  until(name: string, count?: number): Promise<unknown[]>
}

function startLink(
  path: string,
  options: { identity?: () => Identity; clock?: Clock } = {},
): { link: WorkerLink; seen: Seen } {
  const events: unknown[][] = []
  const logged: object[] = []
  const watchers = new Set<() => void>()
  const tell =
    (name: string) =>
    (...values: unknown[]) => {
      events.push([name, ...values])
      for (const look of watchers) look()
    }
  const log = (fields: object) => logged.push(fields)
  const link = new WorkerLink({
    address: { path },
    identity: options.identity ?? (() => identityOf('gateway')),
    clock: options.clock ?? systemClock,
    hello: () => helloOf({ role: 'gateway', instance: 'ins_gateway' }),
    log: { info: log, warn: log, error: log },
  })
  link.start({
    result: (head, raw) => tell('result')(head, raw.toString()),
    progress: tell('progress'),
    observed: tell('observed'),
    late: tell('late'),
    lost: tell('lost'),
    up: tell('up'),
  })
  running.push(() => link.stop())
  const until = (name: string, count = 1) =>
    new Promise<unknown[]>((resolve) => {
      const look = () => {
        const found = events.filter(([first]) => first === name)
        if (found.length < count) return
        watchers.delete(look)
        resolve(found[count - 1] as unknown[])
      }
      watchers.add(look)
      look()
    })
  return { link, seen: { events, logged, until } }
}

const id = (n: number) => `int_${n}` as IntentId
function orderOf(n: number, credentialSeal?: string): Order {
  const text = JSON.stringify({ id: id(n) })
  const argumentsText = JSON.stringify({ n })
  return {
    id: id(n),
    text,
    digest: digestBytes(text),
    endpointSeal: 'e',
    credentialSeal,
    argumentsText,
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

async function linked(options: ScriptedOptions = {}) {
  const worker = await startWorker(options)
  const { link, seen } = startLink(worker.path)
  await link.whenUp(5_000)
  return { worker, link, seen, connection: await worker.connection(0) }
}

test('is connected when the worker has said hello', async () => {
  const worker = await startWorker()
  const { link, seen } = startLink(worker.path)
  expect(link.instance()).toBeUndefined()
  expect(() => link.send([orderOf(1)])).toThrow(expect.objectContaining({ code: 'worker_down' }))
  expect(await link.whenUp(5_000)).toBe('worker-1')
  expect(link.instance()).toBe('worker-1')
  expect(link.state()).toMatchObject({ code: null, hello: { instance: 'worker-1', build: 'test' } })
  expect(seen.events).toEqual([['up', 'worker-1']])
})

test('says hello with its role, instance and clock', async () => {
  const { connection } = await linked()
  const [frame] = await connection.receive('hello')
  const head = frame?.head as Hello
  expect(head).toMatchObject({ wire: 1, role: 'gateway', instance: 'ins_gateway' })
  expect(Math.abs(head.now - Date.now())).toBeLessThan(5_000)
})

test('is not connected by a handshake without a hello', async () => {
  const worker = await startWorker({ hello: () => undefined })
  const { link } = startLink(worker.path)
  await (await worker.connection(0)).receive('hello')
  await expect(link.whenUp(50)).rejects.toMatchObject({ code: 'worker_down' })
})

test('refuses a worker of another authority', async () => {
  const other = createAuthority({ commonName: 'other', days: 1 })
  const worker = await startWorker({ identity: identityOf('worker', other) })
  const { link } = startLink(worker.path)
  await expect(link.whenUp(300)).rejects.toMatchObject({ code: 'worker_down' })
  expect(worker.connections).toEqual([])
})

test('refuses a peer whose certificate is not one of a worker', async () => {
  const worker = await startWorker({ identity: identityOf('operator') })
  const { link } = startLink(worker.path)
  await expect(link.whenUp(300)).rejects.toMatchObject({ code: 'worker_down' })
  expect(worker.connections).toEqual([])
})

test('is not connected where its own certificate is refused, though TLS 1.3 told it so', async () => {
  const worker = await startWorker()
  const other = createAuthority({ commonName: 'other', days: 1 })
  const { link } = startLink(worker.path, { identity: () => identityOf('gateway', other) })
  await expect(link.whenUp(300)).rejects.toMatchObject({ code: 'worker_down' })
  expect(worker.connections).toEqual([])
})

test.each([
  ['release', { release: '9.9.9' }, 'wrong_release'],
  ['wire version', { wire: 2 }, 'wrong_release'],
  ['clock, ahead', { now: Date.now() + 60_000 }, 'clock_skew'],
  ['clock, behind', { now: Date.now() - 60_000 }, 'clock_skew'],
  ['clock, as it says itself', { refused: 'clock_skew' as const }, 'clock_skew'],
  ['release, as it says itself', { refused: 'wrong_release' as const }, 'wrong_release'],
])('refuses a worker of another %s and says so', async (_what, changed, code) => {
  const worker = await startWorker({ hello: () => helloOf(changed) })
  const { link, seen } = startLink(worker.path)
  await expect(link.whenUp(5_000)).rejects.toMatchObject({ code })
  expect(link.instance()).toBeUndefined()
  expect(link.state().code).toBe(code)
  expect(seen.logged).toEqual([expect.objectContaining({ code })])
  expect(() => link.send([orderOf(1)])).toThrow(expect.objectContaining({ code: 'worker_down' }))
})

test('comes up when a worker of the same release takes the place of another', async () => {
  let release = '9.9.9'
  const worker = await startWorker({
    hello: () => (release === '' ? helloOf() : helloOf({ release })),
  })
  const { link, seen } = startLink(worker.path)
  await expect(link.whenUp(5_000)).rejects.toMatchObject({ code: 'wrong_release' })
  release = ''
  expect(await link.whenUp(5_000)).toBe('worker-1')
  expect(seen.events).toEqual([['up', 'worker-1']])
})

test('sends a signed batch, its bodies and its commit as one write', async () => {
  const identity = identityOf('gateway')
  const worker = await startWorker()
  const { link } = startLink(worker.path, { identity: () => identity })
  await link.whenUp(5_000)
  const connection = await worker.connection(0)
  await connection.receive('hello')
  const before = connection.reads
  const orders = [orderOf(1, 'c'), orderOf(2)]
  link.send(orders).commit([1])
  await connection.receive('committed')

  expect(connection.reads - before).toBe(1)
  expect(connection.kinds()).toEqual(['hello', 'intents', 'body', 'body', 'committed'])
  const [, intents, first, second, committed] = connection.frames
  const payload = `${orders[0]?.digest}\n${orders[1]?.digest}`
  const { batch, jws } = (intents as Frame).head as { batch: string; jws: string }
  expect(batch).toBe(`sha256:${createHash('sha256').update(payload).digest('hex')}`)
  const { publicKey } = new X509Certificate(identity.certificatePem)
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const kid = createHash('sha256').update(spki).digest('base64url')
  expect(verifyJws(jws, kid, publicKey)).toBe(payload)
  const stranger = createPublicKey(identityOf('gateway').privateKeyPem)
  expect(verifyJws(jws, kid, stranger)).toBeUndefined()
  expect(intents?.raw.toString()).toBe('{"id":"int_1"}\n{"id":"int_2"}')
  expect(first?.head).toEqual({ intent: 'int_1', endpoint: 'e', credential: 'c' })
  expect(first?.raw.toString()).toBe('{"n":1}')
  expect(second?.head).toEqual({ intent: 'int_2' })
  expect(second?.raw.toString()).toBe('{"n":2}')
  expect(committed?.head).toEqual({ batch, admitted: [1] })
})

test('after its certificate was renewed, a connection still signs with the one that it showed', async () => {
  const [first, second] = [identityOf('gateway'), identityOf('gateway')]
  let identity = first
  const worker = await startWorker()
  const { link, seen } = startLink(worker.path, { identity: () => identity })
  await link.whenUp(5_000)
  const kidOf = ({ certificatePem }: Identity) =>
    certificateKid(new X509Certificate(certificatePem).publicKey)
  const signed = async (at: number, order: number) => {
    const connection = await worker.connection(at)
    link.send([orderOf(order)]).abort()
    const [intents] = await connection.receive('intents')
    const { jws } = (intents as Frame).head as { jws: string }
    const [header = ''] = jws.split('.')
    return JSON.parse(Buffer.from(header, 'base64url').toString()).kid
  }
  identity = second
  expect(await signed(0, 1)).toBe(kidOf(first))
  worker.connections[0]?.cut()
  await seen.until('up', 2)
  expect(await signed(1, 2)).toBe(kidOf(second))
})

test('sends everything of one event as one write, what was settled as one frame', async () => {
  const { link, connection } = await linked()
  await connection.receive('hello')
  const before = connection.reads
  link.settled([id(1)])
  const batches = [
    [3, 4],
    [5, 6],
  ].map((pair) => link.send(pair.map((n) => orderOf(n))))
  for (const batch of batches) batch.commit([0, 1])
  link.settled([id(2)])
  await connection.receive('settled')
  expect(connection.reads - before).toBe(1)
  expect(connection.of('settled').map(({ head }) => head)).toEqual([
    { intents: ['int_1', 'int_2'] },
  ])
  expect(connection.of('committed')).toHaveLength(2)
})

test('sends a lone order at once, before it is decided', async () => {
  const { link, connection } = await linked()
  await connection.receive('hello')
  const batch = link.send([orderOf(1)])
  const before = connection.reads
  await connection.receive('body')
  expect(connection.of('committed')).toEqual([])
  batch.commit([0])
  await connection.receive('committed')
  expect(connection.reads - before).toBe(2)
})

test('tells abort to the worker and passes no result of that batch on', async () => {
  const { link, connection, seen } = await linked()
  const batch = link.send([orderOf(1)])
  batch.abort()
  batch.commit([0])
  const [abort] = await connection.receive('abort')
  expect(abort?.head).toEqual({ batch: digestBytes(orderOf(1).digest) })
  await turn()
  expect(connection.of('committed')).toEqual([])
  connection.cut()
  await seen.until('up', 2)
  expect(seen.events.map(([name]) => name)).toEqual(['up', 'up'])
})

const observed = {
  connectionId: 'con_1',
  connectionRevision: 1,
  digest: digestBytes('listing'),
  at: 1,
  tools: { tool: digestBytes('tool') },
}

test('hands on results, progress and listings', async () => {
  const { link, connection, seen } = await linked()
  link.send([orderOf(1)]).commit([0])
  await connection.receive('committed')
  connection.send('progress', { intent: 'int_1', progress: 1 })
  connection.send('observed', observed)
  connection.send('result', { intent: 'int_1', verdict: 'result' }, '{"content":[]}')
  await seen.until('result')
  expect(seen.events.slice(1)).toEqual([
    ['progress', { intent: 'int_1', progress: 1 }],
    ['observed', observed],
    ['result', { intent: 'int_1', verdict: 'result' }, '{"content":[]}'],
  ])
})

test('hands on an answer that comes after its write was told as uncertain', async () => {
  const { link, connection, seen } = await linked()
  link.send([orderOf(1)]).commit([0])
  await connection.receive('committed')
  const uncertain = { intent: 'int_1', verdict: 'uncertain', code: 'upstream_timeout' }
  connection.send('result', uncertain)
  connection.send('late', { intent: 'int_1', verdict: 'result', status: 200 })
  await seen.until('late')
  expect(seen.events.slice(1)).toEqual([
    ['result', uncertain, ''],
    ['late', { intent: 'int_1', verdict: 'result', status: 200 }],
  ])
})

test('keeps a result that comes before the commit until the commit', async () => {
  const { link, connection, seen } = await linked()
  const { commit } = link.send([orderOf(1), orderOf(2)])
  await connection.receive('body', 2)
  connection.send('result', { intent: 'int_1', verdict: 'not_sent', code: 'intent_refused' })
  connection.send('progress', { intent: 'int_2', progress: 1 })
  await seen.until('progress')
  expect(seen.events.filter(([name]) => name === 'result')).toEqual([])
  commit([0, 1])
  expect(await seen.until('result')).toEqual([
    'result',
    { intent: 'int_1', verdict: 'not_sent', code: 'intent_refused' },
    '',
  ])
})

test('tells intents as lost whose connection ends before their results', async () => {
  const { link, connection, seen } = await linked()
  link.send([orderOf(1), orderOf(2), orderOf(3)]).commit([0, 2])
  await connection.receive('committed')
  connection.send('result', { intent: 'int_1', verdict: 'result' }, '{}')
  await seen.until('result')
  connection.cut()
  expect(await seen.until('lost')).toEqual(['lost', ['int_3']])
  await seen.until('up', 2)
  expect(seen.events.filter(([name]) => name === 'lost')).toHaveLength(1)
})

test('commits a batch on no other connection than its own', async () => {
  const { worker, link, connection, seen } = await linked()
  const batch = link.send([orderOf(1), orderOf(2)])
  await connection.receive('body', 2)
  connection.cut()
  await seen.until('up', 2)
  expect(seen.events.filter(([name]) => name === 'lost')).toEqual([])
  batch.commit([1])
  expect(await seen.until('lost')).toEqual(['lost', ['int_2']])
  link.send([orderOf(3)]).commit([0])
  const second = await worker.connection(1)
  await second.receive('committed')
  expect(second.kinds()).toEqual(['hello', 'intents', 'body', 'committed'])
  // A seal crosses each connection once.
  expect(second.frames.find(({ kind }) => kind === 'body')?.head).toHaveProperty('endpoint', 'e')
})

test('asks after a new connection what became of intents', async () => {
  const { worker, link, connection, seen } = await linked()
  link.send([orderOf(1), orderOf(2)]).commit([0, 1])
  await connection.receive('committed')
  connection.cut()
  await seen.until('up', 2)
  const intents = [1, 2].map((n) => ({ id: id(n), iat: n, aud: 'worker-1' }))
  const answers = link.recover(intents)
  const second = await worker.connection(1)
  const [frame] = await second.receive('recover')
  expect(frame?.head).toEqual({ intents })
  const state = { instance: 'worker-1', state: 'never_started' }
  second.send('recovered', { intent: 'int_2', ...state })
  const result = { intent: 'int_1', verdict: 'result' }
  second.send('recovered', { intent: 'int_1', ...state, state: 'result', result }, '{"n":1}')
  const found = await answers
  expect(found.map(({ head, raw }) => [head.intent, head.state, raw.toString()])).toEqual([
    ['int_2', 'never_started', ''],
    ['int_1', 'result', '{"n":1}'],
  ])
})

test('gives up asking when the connection ends before every answer', async () => {
  const { link, connection } = await linked()
  const intents = [1, 2].map((n) => ({ id: id(n), iat: n, aud: 'worker-1' }))
  const answers = expect(link.recover(intents)).rejects.toMatchObject({ code: 'worker_down' })
  await connection.receive('recover')
  connection.send('recovered', { intent: 'int_1', instance: 'worker-1', state: 'running' })
  connection.cut()
  await answers
  await expect(link.recover([])).rejects.toMatchObject({ code: 'worker_down' })
})

test('tells whoever hears of a loss that no worker is there', async () => {
  const { link, connection, seen } = await linked()
  const instances: (string | undefined)[] = []
  seen.events.push = (...added) => {
    if (added[0]?.[0] === 'lost') instances.push(link.instance())
    return Array.prototype.push.apply(seen.events, added)
  }
  link.send([orderOf(1)]).commit([0])
  await connection.receive('committed')
  connection.cut()
  await seen.until('lost')
  expect(instances).toEqual([undefined])
})

test('passes cancel and release on', async () => {
  const { link, connection } = await linked()
  link.cancel(id(1))
  link.release('con_1')
  const [released] = await connection.receive('release')
  expect(connection.of('cancel')[0]?.head).toEqual({ intent: 'int_1' })
  expect(released?.head).toEqual({ connectionId: 'con_1' })
})

test('answers a direct order to its caller alone and lets the worker forget it', async () => {
  const { link, connection, seen } = await linked()
  const answer = link.order(orderOf(1), 5_000)
  const [committed] = await connection.receive('committed')
  expect(committed?.head).toMatchObject({ admitted: [0] })
  connection.send('result', { intent: 'int_1', verdict: 'result' }, '{"tools":[]}')
  expect((await answer).raw.toString()).toBe('{"tools":[]}')
  const [settled] = await connection.receive('settled')
  expect(settled?.head).toEqual({ intents: ['int_1'] })
  expect(seen.events).toEqual([['up', 'worker-1']])
})

test('fails a direct order whose connection ends, without telling it as lost', async () => {
  const { link, connection, seen } = await linked()
  const answer = expect(link.order(orderOf(1), 5_000)).rejects.toMatchObject({
    code: 'worker_down',
  })
  await connection.receive('committed')
  connection.cut()
  await answer
  await seen.until('up', 2)
  expect(seen.events.map(([name]) => name)).toEqual(['up', 'up'])
})

test('fails a direct order that is not answered in its time', async () => {
  const { link, connection } = await linked()
  const answer = expect(link.order(orderOf(1), 50)).rejects.toMatchObject({ code: 'worker_down' })
  await connection.receive('committed')
  await answer
  expect(connection.isOpen).toBe(true)
})

test('ends a connection that sends what no worker sends', async () => {
  const { connection, seen } = await linked()
  connection.sendBytes('GET / HTTP/1.1\r\n\r\n')
  await connection.until(() => !connection.isOpen)
  await seen.until('up', 2)
})

test('pings every five seconds and takes a worker for dead after fifteen of silence', async () => {
  const worker = await startWorker()
  const clock = new SteppedClock(Date.now())
  const { link } = startLink(worker.path, { clock })
  await link.whenUp(5_000)
  const connection = await worker.connection(0)
  for (const n of [1, 2, 3]) {
    clock.step(5_000)
    const pings = await connection.receive('ping', n)
    expect(pings.at(-1)?.head).toEqual({ n })
    const answered = link.recover([{ id: id(n), iat: 0, aud: '' }])
    await connection.receive('recover', n)
    connection.send('pong', { n })
    connection.send('recovered', { intent: id(n), instance: 'worker-1', state: 'not_known' })
    await answered
  }
  clock.step(5_000)
  clock.step(5_000)
  await connection.receive('ping', 5)
  expect(link.instance()).toBe('worker-1')
  clock.step(5_000)
  await connection.until(() => !connection.isOpen)
})

const deep = `${'['.repeat(500_000)}${']'.repeat(500_000)}`

test.each([
  ['a result without a head', 'result', 'null'],
  ['a result of another verdict', 'result', '{"intent":"int_1","verdict":"fine"}'],
  ['a code nobody knows', 'result', '{"intent":"int_1","verdict":"not_sent","code":"toString"}'],
  ['progress without a number', 'progress', '{"intent":"int_1","progress":null}'],
  ['an observed listing of no connection', 'observed', '{}'],
  ['a vault without a key', 'vault', '{"source":"file","keys":[],"retired":[]}'],
  ['an answer about nothing', 'recovered', '[]'],
  ['a ping nested without end', 'ping', deep],
] as const)(
  '%s ends the connection, is told to nobody, and another one is dialled',
  async (_what, kind, text) => {
    const { worker, link, connection, seen } = await linked()
    link.send([orderOf(1)]).commit([0])
    await connection.receive('committed')
    const told = seen.events.length
    connection.sendText(kind, text)
    expect(await seen.until('lost')).toEqual(['lost', ['int_1']])
    expect(seen.events).toHaveLength(told + 1)
    await worker.connection(1)
    await link.whenUp(5_000)
  },
)

test('a hello that is none is told as another release, and its connection does not stay', async () => {
  const worker = await startWorker({ hello: () => ({ ...helloOf(), pid: 'one' }) as never })
  const { link } = startLink(worker.path)
  await expect(link.whenUp(5_000)).rejects.toMatchObject({ code: 'wrong_release' })
  const first = await worker.connection(0)
  await first.until(() => !first.isOpen)
})

test('answers the pings of the worker', async () => {
  const { connection } = await linked()
  connection.send('ping', { n: 7 })
  const [pong] = await connection.receive('pong')
  expect(pong?.head).toEqual({ n: 7 })
})

test('dials again after 50 ms, doubling to one second, and from 50 ms after a connection', async () => {
  const clock = new SteppedClock(Date.now())
  const worker = new ScriptedWorker()
  running.push(() => worker.stop())
  const { link, seen } = startLink(worker.path, { clock })
  const isSet = async () => {
    while (clock.pending().every((ms) => ms > 1_000)) await turn()
    return clock.pending()[0]
  }
  const delays: unknown[] = []
  for (let i = 0; i < 7; i++) {
    delays.push(await isSet())
    clock.step(delays.at(-1) as number)
  }
  expect(delays).toEqual([50, 100, 200, 400, 800, 1_000, 1_000])
  await worker.listen()
  clock.step((await isSet()) as number)
  await seen.until('up')
  ;(await worker.connection(0)).cut()
  expect(await isSet()).toBe(50)
  expect(link.instance()).toBeUndefined()
})

test('stops for good', async () => {
  const clock = new SteppedClock(Date.now())
  const worker = await startWorker()
  const { link, seen } = startLink(worker.path, { clock })
  await link.whenUp(5_000)
  const connection = await worker.connection(0)
  link.send([orderOf(1)]).commit([0])
  await link.stop()
  await connection.until(() => !connection.isOpen)
  expect(connection.of('committed')).toHaveLength(1)
  expect(seen.events.at(-1)).toEqual(['lost', ['int_1']])
  await expect(link.recover([])).rejects.toMatchObject({ code: 'worker_down' })
  clock.step(60_000)
  await turn()
  expect(worker.connections).toHaveLength(1)
})

test('what the worker said last of its keys counts, and nothing once it is gone', async () => {
  const jwk = { kty: 'OKP', crv: 'X25519', x: 'x' } as const
  const said = { source: 'file', keys: [{ kid: 'k', jwk, madeAt: 1 }], retired: [] } as const
  const worker = await startWorker({ hello: () => helloOf({ keys: said }) })
  const { link, seen } = startLink(worker.path)
  expect(link.vault()).toBeUndefined()
  const connection = await worker.connection(0)
  await seen.until('up')
  expect(link.vault()).toEqual(said)
  connection.send('vault', { ...said, retired: ['k1'] })
  connection.send('observed', observed)
  await seen.until('observed')
  expect(link.vault()).toEqual({ ...said, retired: ['k1'] })
  await link.stop()
  expect(link.vault()).toBeUndefined()
})
