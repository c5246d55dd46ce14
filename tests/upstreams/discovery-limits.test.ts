/**
 * Servers that list more, larger, deeper or other tools than anybody may, seen by the whole program: each is refused with
 * a code of its own or shown to the reviewer, and neither gateway nor worker grows with what it is sent.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { ApiRefusal } from '../harness/call-api.ts'
import { connectUpstream } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { growthDuring } from './peak-memory.ts'
import { type Fault, type ScriptedTool, startUpstream, type Upstream } from './scripted-upstream.ts'

const MiB = 1024 * 1024
/** Less than some of the servers send, and more than what was freed and is not collected yet. */
const mostGrowth = 128 * MiB

let sallyport: Sallyport
const upstreams: Upstream[] = []
beforeAll(async () => {
  sallyport = await startSallyport()
  // What a first discovery loads is not what a hostile one costs.
  const { name, upstream } = await connect()
  await sallyport.api('catalog.discover', { name })
  upstream.setTools(named(2_000))
  await sallyport.api('catalog.discover', { name })
}, 60_000)
afterEach(async () => {
  for (const upstream of upstreams.splice(0)) await upstream.close()
})
afterAll(async () => {
  const told = growths.map(([worker, gateway, what]) => `${mib(worker)} ${mib(gateway)} ${what}`)
  process.stdout.write(`discovery, MiB of worker and gateway:\n${told.join('\n')}\n`)
  await sallyport?.remove()
})

const growths: [worker: number, gateway: number, what: string][] = []
const mib = (bytes: number): string => String(Math.round(bytes / MiB)).padStart(4)

const named = (count: number): ScriptedTool[] =>
  Array.from({ length: count }, (_, n) => ({ name: `tool-${n}`, description: 'Does it.' }))

async function connect(
  pageSize?: number,
): Promise<{ readonly name: string; readonly upstream: Upstream }> {
  const upstream = await startUpstream(pageSize === undefined ? {} : { pageSize })
  upstreams.push(upstream)
  const name = `c-${randomBytes(6).toString('hex')}`
  await connectUpstream(sallyport, { name, url: upstream.url })
  return { name, upstream }
}

const page = (tools: string, more = ''): Fault => ({
  kind: 'raw',
  body: (id) => `{"jsonrpc":"2.0","id":${id},"result":{"tools":${tools}${more}}}`,
})
const schema = (inner: string) => `[{"name":"a","inputSchema":${inner}}]`
const described = (bytes: number) =>
  schema(`{"type":"object","description":"${'x'.repeat(bytes)}"}`)
const nested = (depth: number) => schema(`${'{"not":'.repeat(depth)}{}${'}'.repeat(depth)}`)
const notUtf8 = (id: string): Buffer =>
  Buffer.concat([
    Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"tools":[{"name":"`),
    Buffer.from('c3', 'hex'),
    Buffer.from('","inputSchema":{}}]}}'),
  ])

interface Hostile {
  readonly what: string
  readonly code: string
  readonly fault?: Fault
  readonly tools?: readonly ScriptedTool[]
  readonly pageSize?: number
}

const refused: readonly Hostile[] = [
  { what: '10,000 tools', code: 'too_many_tools', tools: named(10_000) },
  { what: '10,000 tools, 100 a page', code: 'too_many_tools', tools: named(10_000), pageSize: 100 },
  { what: 'a schema of 300 KiB', code: 'bad_schema', fault: page(described(300 * 1024)) },
  { what: 'a schema of 5 MB', code: 'upstream_too_large', fault: page(described(5_000_000)) },
  { what: 'a schema of 60 MiB', code: 'upstream_too_large', fault: page(described(60 * MiB)) },
  { what: 'a page of 200 MiB', code: 'upstream_too_large', fault: page(described(200 * MiB)) },
  { what: 'a schema nested 10,000 deep', code: 'bad_schema', fault: page(nested(10_000)) },
  { what: 'a schema nested 1,000,000 deep', code: 'upstream_too_large', fault: page(nested(1e6)) },
  {
    what: 'bytes that are no UTF-8',
    code: 'upstream_protocol',
    fault: { kind: 'raw', body: notUtf8 },
  },
  {
    what: 'two tools of one name',
    code: 'upstream_protocol',
    fault: page('[{"name":"a","inputSchema":{}},{"name":"a","inputSchema":{}}]'),
  },
  {
    what: 'one tool on every page',
    code: 'upstream_protocol',
    tools: [{ name: 'a' }, { name: 'b' }, { name: 'a' }],
    pageSize: 2,
  },
  { what: 'pages without end', code: 'upstream_too_large', fault: page('[]', ',"nextCursor":"n"') },
  {
    what: 'pages of 100 tools without end',
    code: 'too_many_tools',
    fault: page(JSON.stringify(named(100)), ',"nextCursor":"n"'),
  },
  {
    what: 'a stream without end',
    code: 'upstream_too_large',
    fault: { kind: 'endless_sse', chunkBytes: 512 * 1024 },
  },
]

async function refusalOf(name: string): Promise<unknown> {
  try {
    await sallyport.api('catalog.discover', { name })
    return 'listed'
  } catch (thrown) {
    return thrown instanceof ApiRefusal ? thrown.code : thrown
  }
}

test.each(refused)('$what: $code, and nobody grows with it', async (hostile) => {
  const { name, upstream } = await connect(hostile.pageSize)
  await sallyport.api('catalog.discover', { name })
  if (hostile.tools) upstream.setTools(hostile.tools)
  if (hostile.fault) upstream.misbehave(hostile.fault, { method: 'tools/list' })
  let code: unknown
  let gateway = 0
  const worker = await growthDuring(sallyport.workerPid() as number, async () => {
    gateway = await growthDuring(sallyport.pid, async () => {
      code = await refusalOf(name)
    })
  })
  growths.push([worker, gateway, hostile.what])
  expect(code).toBe(hostile.code)
  expect(worker).toBeLessThan(mostGrowth)
  expect(gateway).toBeLessThan(mostGrowth)
  upstream.behave()
  upstream.setTools(named(3))
  expect(await refusalOf(name)).toBe('listed')
})

test('the control: a process that holds what it is sent is seen to grow', async () => {
  // A process of its own: this one may hold in what it freed before, without growing.
  const script =
    'process.stdin.once("data", () => { globalThis.held = Buffer.alloc(320 << 20, 1); console.log(".") })'
  const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  try {
    await once(child, 'spawn')
    const growth = await growthDuring(child.pid as number, async () => {
      const held = once(child.stdout, 'data')
      child.stdin.write('now\n')
      await held
    })
    expect(growth).toBeGreaterThan(2 * mostGrowth)
  } finally {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
})

test('what cannot be enforced is listed, says so, and cannot be included; what goes round is enforced', async () => {
  const { name, upstream } = await connect()
  const around = { type: 'object', properties: { child: { $ref: '#' } } }
  const circle = {
    $ref: '#/$defs/a',
    $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } },
  }
  const remote = { type: 'object', properties: { a: { $ref: 'https://192.0.2.1/s.json' } } }
  upstream.setTools([
    { name: 'around', inputSchema: around },
    { name: 'circle', inputSchema: circle },
    { name: 'remote', inputSchema: remote },
  ])
  await sallyport.api('catalog.discover', { name })
  for (const tool of ['circle', 'remote'])
    await expect(
      sallyport.api('catalog.review', { name }, { include: [tool], read: [tool] }),
    ).rejects.toMatchObject({ code: 'bad_schema' })
  const review = { include: ['around'], read: ['around'] }
  await sallyport.api('catalog.review', { name }, review)
  await sallyport.api('catalog.publish', { name }, {})
})

test('names in other alphabets are listed under names that every harness takes, none like another', async () => {
  const { name, upstream } = await connect()
  const theirs = [
    'пинг',
    'ping',
    'рing',
    'ＰＩＮＧ',
    'قراءة',
    '読む',
    '🙂',
    'e\u0301cho',
    '\u00e9cho',
    'a b',
  ]
  upstream.setTools(theirs.map((one) => ({ name: one })))
  const { tools } = await sallyport.api('catalog.discover', { name })
  expect(tools.map(({ id }) => id).toSorted()).toEqual(theirs.toSorted())
  const exposed = tools.map(({ exposedName }) => exposedName)
  expect(exposed).toHaveLength(theirs.length)
  expect(new Set(exposed).size).toBe(theirs.length)
  for (const one of exposed) expect(`mcp__${name}__${one}`).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
})
