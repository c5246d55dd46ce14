/**
 * An agent program that speaks ACP and does what its prompt says, one directive a line; runs in the sandbox on its own.
 *   tools                  says what its one server offers
 *   offered                says which forms it may ask for
 *   call TOOL JSON         asks for permission as Claude Code does, calls, says the answer
 *   ask KIND TITLE         asks for permission, says the answer
 *   form JSON              asks for a form, says the answer
 *   form-while-talking JSON  as form, and talks meanwhile
 *   say JSON               says a text
 *   wait                   says so, and waits to be cancelled
 *   die, exit              is killed, ends; once in a workspace
 *   stop REASON            ends the turn for that reason
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

type Json = Record<string, unknown>

/** JSON-RPC in lines, both ways. */
class Peer {
  readonly #output: Writable
  readonly #waiting = new Map<unknown, (answer: Json) => void>()
  #last = 0

  constructor(input: Readable, output: Writable, heard: (message: Json) => unknown) {
    this.#output = output
    createInterface({ input }).on('line', (line) => {
      const message = JSON.parse(line) as Json
      if (message['method'] !== undefined) return heard(message)
      return this.#waiting.get(message['id'])?.(message)
    })
  }

  send(message: Json): void {
    this.#output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  /** Resolves with the result, or with the error. */
  request(method: string, params: Json): Promise<Json> {
    const id = `asked-${++this.#last}`
    this.send({ id, method, params })
    return new Promise((resolve) => {
      this.#waiting.set(id, ({ result, error }) => resolve((result ?? error) as Json))
    })
  }
}

const sessionId = 's1'
const options = ['allow_always', 'allow_once', 'reject_once'].map((kind) => ({
  optionId: kind,
  kind,
  name: kind,
}))

let offered: unknown
let server: Peer | undefined
let tools: string[] = []
let cancelled = Promise.withResolvers<void>()
let calls = 0

process.stdin.once('end', () => process.exit(0))
const owner = new Peer(process.stdin, process.stdout, async ({ id, method, params }: Json) => {
  const result = await answerTo(String(method), (params ?? {}) as Json)
  if (id !== undefined) owner.send({ id, result })
})

async function answerTo(method: string, params: Json): Promise<Json> {
  switch (method) {
    case 'initialize':
      offered = (params['clientCapabilities'] as Json)['elicitation'] ?? null
      return { protocolVersion: 1, agentCapabilities: { loadSession: true } }
    case 'session/new':
    case 'session/load':
      await startServer((params['mcpServers'] as Json[])[0] as Json)
      return { sessionId }
    case 'session/prompt': {
      cancelled = Promise.withResolvers<void>()
      const [{ text }] = params['prompt'] as [{ text: string }]
      return { stopReason: await turn(text) }
    }
    case 'session/cancel':
      cancelled.resolve()
      return {}
    default:
      return {}
  }
}

async function startServer({ command, args }: Json): Promise<void> {
  const stdio = ['pipe', 'pipe', 'inherit'] as const
  const child: ChildProcess = spawn(command as string, args as string[], { stdio: [...stdio] })
  server = new Peer(child.stdout as Readable, child.stdin as Writable, () => undefined)
  const clientInfo = { name: 'scripted', version: '1' }
  const protocolVersion = '2025-11-25'
  await server.request('initialize', { protocolVersion, capabilities: {}, clientInfo })
  const listed = await server.request('tools/list', {})
  tools = (listed['tools'] as { name: string }[]).map(({ name }) => name)
}

async function turn(text: string): Promise<string> {
  for (const line of text.split('\n')) {
    const [, word = '', rest = ''] = /^(\S+) ?(.*)$/.exec(line) ?? []
    const end = await directives[word]?.(rest)
    if (typeof end === 'string') return end
  }
  return 'end_turn'
}

/** What resolves with a word ends the turn for that reason. */
const directives: Record<string, (rest: string) => Promise<unknown>> = {
  tools: async () => say(tools.toSorted().join(' ')),
  offered: async () => say(JSON.stringify(offered)),
  call,
  ask: async (rest) => {
    const [, kind, title] = /^(\S+) (.*)$/.exec(rest) ?? []
    say(JSON.stringify(await permission({ toolCallId: `call-${++calls}`, kind, title })))
  },
  form: async (rest) => say(JSON.stringify(await form(rest))),
  'form-while-talking': async (rest) => {
    const answer = form(rest)
    say('talking meanwhile')
    say(JSON.stringify(await answer))
  },
  say: async (rest) => say(JSON.parse(rest) as string),
  wait: async () => {
    say('waiting')
    await cancelled.promise
    return 'cancelled'
  },
  die: async () => once('died', () => process.kill(process.pid, 'SIGKILL')),
  exit: async () => once('ended', () => process.exit(0)),
  stop: async (reason) => reason,
}

async function call(rest: string): Promise<void> {
  const [, name, given = '{}'] = /^(\S+) ?(.*)$/.exec(rest) ?? []
  const toolCallId = `call-${++calls}`
  const update = { sessionUpdate: 'tool_call', toolCallId, title: `mcp__sallyport__${name}` }
  owner.send({ method: 'session/update', params: { sessionId, update } })
  const { outcome } = (await permission({ toolCallId })) as { outcome: Json }
  if (outcome['optionId'] !== 'allow_once') return say(`not called: ${JSON.stringify(outcome)}`)
  const asked = { name, arguments: JSON.parse(given) as Json }
  say(JSON.stringify((await server?.request('tools/call', asked))?.['content']))
}

const permission = (toolCall: Json): Promise<Json> =>
  owner.request('session/request_permission', { sessionId, toolCall, options })

const form = (rest: string): Promise<Json> =>
  owner.request('elicitation/create', { sessionId, mode: 'form', ...(JSON.parse(rest) as Json) })

function say(text: string): void {
  const content = { type: 'text', text: `${text}\n` }
  const update = { sessionUpdate: 'agent_message_chunk', content }
  owner.send({ method: 'session/update', params: { sessionId, update } })
}

/** The workspace is what is left of it. */
async function once(name: string, act: () => unknown): Promise<void> {
  if (existsSync(name)) return
  writeFileSync(name, '')
  act()
  await new Promise(() => undefined)
}
