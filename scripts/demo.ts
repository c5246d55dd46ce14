/**
 * The whole story without a person: two real MCP servers, one of each protocol era, are connected, reviewed, published
 * and granted; a real MCP client calls their tools through a session. Ends with 0 when everything happened that is
 * shown. `--break-upstream` stops the servers before the calls, to show what an agent and an operator then see.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type Answer, escapeText } from '@sallyport/protocol'
import { type EverythingServer, startEverything } from '../tests/upstreams/everything.ts'
import { type SdkServer, startSdkServer } from '../tests/upstreams/sdk-modern-server.ts'
import { DemoFailure, DemoSallyport, say } from './demo-sallyport.ts'

const { values: flags } = parseArgs({ options: { 'break-upstream': { type: 'boolean' } } })
const started = Date.now()
const folder = mkdtempSync(join(tmpdir(), 'sallyport-demo-'))
const sallyport = new DemoSallyport(folder)
const secret = randomBytes(24).toString('base64url')
let everything: EverythingServer | undefined
let modern: SdkServer | undefined

async function main(): Promise<void> {
  title('Two MCP servers: one of the legacy era, one of 2026-07-28 that wants a token')
  everything = await startEverything()
  modern = await startSdkServer({ bearer: secret })
  say(`  everything: ${everything.url}\n  modern:     ${modern.url}`)

  title('Sallyport starts')
  await sallyport.start()

  title('Connect, review, publish')
  writeFileSync(join(folder, 'modern.token'), secret, { mode: 0o600 })
  await connect('everything', everything.url, [], ['echo', 'get-structured-content'], [])
  await connect('modern', modern.url, ['--bearer-file', 'modern.token'], ['greet'], ['add'])

  title('What a session may do')
  writeFileSync(join(folder, 'limit.json'), '{"properties":{"name":{"maxLength":20}}}')
  await sallyport.run('profile', 'create', 'demo')
  await sallyport.run('profile', 'grant', 'demo', 'everything', '*', '--mode', 'read')
  const limited = ['--mode', 'read', '--limit', 'limit.json']
  await sallyport.run('profile', 'grant', 'demo', 'modern', 'greet', ...limited)
  const unattended = ['--mode', 'write-unattended', '--yes']
  await sallyport.run('profile', 'grant', 'demo', 'modern', 'add', ...unattended)
  const create = ['session', 'create', '--profile', 'demo', '--isolation', 'external']
  const asked = sallyport.ask<Answer<'session.create'>>(...create, '--token-file', 'session.token')
  const { id, endpoint } = await asked
  say(`  ${id} at ${endpoint}; its token is in a file that only its owner reads`)

  if (flags['break-upstream']) await stopServers()
  title('An agent calls')
  await callTools(endpoint)

  title('The journal')
  await sallyport.run('executions', 'list')
  await sallyport.run('session', 'end', id)
  checkNoSecret()
}

async function connect(
  name: string,
  url: string,
  secretFlags: readonly string[],
  reads: readonly string[],
  writes: readonly string[],
): Promise<void> {
  await sallyport.run('connection', 'add', name, url, ...secretFlags)
  const { tools } = await sallyport.ask<Answer<'catalog.discover'>>('catalog', 'discover', name)
  say(`  ${tools.length} tools`)
  const include = [...reads, ...writes].flatMap((glob) => ['--include', glob])
  const read = reads.flatMap((glob) => ['--read', glob])
  await sallyport.ask('catalog', 'review', name, ...include, ...read)
  await sallyport.run('catalog', 'publish', name)
  await sallyport.ask('connection', 'enable', name)
}

async function callTools(endpoint: string): Promise<void> {
  const token = readFileSync(join(folder, 'session.token'), 'utf8').trim()
  const client = new Client({ name: 'sallyport-demo', version: '1.0.0' })
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(endpoint), { requestInit }))
  try {
    const { tools } = await client.listTools()
    say(`  tools: ${tools.map(({ name }) => name).join(', ')}`)
    const call = (name: string, given: Record<string, unknown>) => callTool(client, name, given)
    expectText(await call('everything__echo', { message: 'Good day' }), 'Echo: Good day')
    const weather = await call('everything__get-structured-content', { location: 'Chicago' })
    const [block] = weather.content
    const inText = block?.type === 'text' ? JSON.parse(block.text) : undefined
    expectSame('structured content', weather.structuredContent, inText)
    expectText(await call('modern__greet', { name: 'Ada' }), 'Hello, Ada.')
    const before = totalOf(await call('modern__add', { by: 2 }))
    expectSame('the total', totalOf(await call('modern__add', { by: 3 })), before + 3)
    const refused = await call('modern__greet', { name: 'A name that is longer than the limit' })
    if (!refused.isError)
      throw new DemoFailure('a call outside the limit of its grant was not refused')
    const hidden = await client.callTool({ name: 'everything__get-env' }).catch(() => undefined)
    if (hidden && !hidden.isError) throw new DemoFailure('a tool that was not granted was called')
    say('  everything__get-env was not granted: no such tool')
  } finally {
    await client.close()
  }
}

type Result = Awaited<ReturnType<Client['callTool']>>

async function callTool(
  client: Client,
  name: string,
  given: Record<string, unknown>,
): Promise<Result> {
  say(`  ${name} ${JSON.stringify(given)}`)
  const result = await client.callTool({ name, arguments: given })
  for (const line of textOf(result).split('\n'))
    say(`    ${result.isError ? 'error: ' : ''}${escapeText(line)}`)
  if (result.structuredContent && !result.isError)
    say(`    structured: ${JSON.stringify(result.structuredContent)}`)
  return result
}

function expectText(result: Result, text: string): void {
  if (result.isError) throw new DemoFailure(`a call did not succeed: ${textOf(result)}`)
  expectSame('the answer', textOf(result), text)
}

function totalOf(result: Result): number {
  const total = (result.structuredContent as { total?: unknown } | undefined)?.total
  if (typeof total !== 'number') throw new DemoFailure(`no total came back: ${textOf(result)}`)
  return total
}

const textOf = (result: Result): string =>
  result.content.map((block) => (block.type === 'text' ? block.text : block.type)).join('\n')

function expectSame(what: string, got: unknown, wanted: unknown): void {
  if (!isDeepStrictEqual(got, wanted))
    throw new DemoFailure(`${what} is not ${JSON.stringify(wanted)} but: ${JSON.stringify(got)}`)
}

/** The sealed token of the server is in no file that Sallyport keeps. */
function checkNoSecret(): void {
  const data = join(folder, 'data')
  for (const entry of readdirSync(data, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile() && readFileSync(path).includes(secret))
      throw new DemoFailure(`${path} holds a credential in clear`)
  }
  say('\n  The token of the server is in no file of the data folder.')
}

async function stopServers(): Promise<void> {
  await everything?.close()
  await modern?.close()
  everything = undefined
  modern = undefined
}

function title(text: string): void {
  say(`\n== ${text}`)
}

try {
  await main()
  await sallyport.stop()
  say(`\nDone in ${((Date.now() - started) / 1000).toFixed(1)} s.`)
} catch (thrown) {
  const reason = thrown instanceof DemoFailure ? thrown.message : (thrown as Error).stack
  process.stderr.write(`\nThe demo failed: ${reason}\n`)
  process.exitCode = 1
} finally {
  await sallyport.stop().catch(() => undefined)
  await stopServers()
  rmSync(folder, { recursive: true, force: true })
}
