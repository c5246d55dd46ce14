/** Against an agent that is a script: what it is told, and what becomes of one that does not keep to the protocol. */
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AcpConversation, type AcpOwner, type AcpStart, restartedMethod } from './conversation.ts'
import type { AskedForm, FormAnswer } from './elicitation.ts'
import { longestLine, type Params } from './json-lines.ts'
import type { AskedPermission } from './permission.ts'
import type { AcpEvent } from './update.ts'

type Script = (params: Params, agent: ScriptedAgent) => unknown

/** Answers each request by its method; what a script returns is the result, undefined is no answer. */
class ScriptedAgent {
  readonly stdin = new PassThrough()
  readonly stdout = new PassThrough()
  readonly heard: {
    readonly method?: string
    readonly params?: Params
    readonly result?: unknown
    readonly error?: unknown
    readonly id?: unknown
  }[] = []
  readonly scripts: Record<string, Script> = {
    initialize: () => ({ protocolVersion: 1, agentCapabilities: { loadSession: true } }),
    'session/new': () => ({ sessionId: 's1' }),
    'session/load': () => ({}),
    'session/set_mode': () => ({}),
    authenticate: () => ({}),
    'session/prompt': () => ({ stopReason: 'end_turn' }),
  }

  constructor() {
    let rest = ''
    this.stdin.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) this.#hear(JSON.parse(line))
    })
  }

  say(message: Params): void {
    this.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  update(update: Params): void {
    this.say({ method: 'session/update', params: { sessionId: 's1', update } })
  }

  methods(): (string | undefined)[] {
    return this.heard.map(({ method }) => method)
  }

  #hear(message: ScriptedAgent['heard'][number]): void {
    this.heard.push(message)
    const { id, method = '', params = {} } = message
    const result = this.scripts[method]?.(params, this)
    if (id !== undefined && result !== undefined) this.say({ id, result })
  }
}

let agent: ScriptedAgent
let events: AcpEvent[]
let asked: AskedPermission[]
let isAllowed: boolean
/** Instead of what the person would say. */
let permits: AcpOwner['permits'] | undefined
let forms: AskedForm[]
let answers: AcpOwner['answers']
let takesForms: boolean

const start: AcpStart = {
  folder: '/workspace',
  command: '/node',
  args: ['/shim'],
  mode: 'default',
  authMethod: 'key',
  meta: { a: 1 },
}

function talk(): AcpConversation {
  return new AcpConversation(agent, start, {
    told: async (event) => void events.push(event),
    permits: async (one, over) => {
      asked.push(one)
      return permits ? permits(one, over) : isAllowed
    },
    takesForms,
    answers: async (form, over) => {
      forms.push(form)
      return answers(form, over)
    },
  })
}

beforeEach(() => {
  agent = new ScriptedAgent()
  events = []
  asked = []
  isAllowed = true
  permits = undefined
  forms = []
  answers = async () => ({ action: 'decline' })
  takesForms = true
})
afterEach(() => {
  agent.stdout.end()
})

const chunk = (text: string): Params => ({
  sessionUpdate: 'agent_message_chunk',
  content: { type: 'text', text },
})

/** The answers of the agent to a turn are said only once the client has answered its own question. */
function asksFirst(toolCall: Params, options: readonly Params[] = usualOptions): void {
  agent.scripts['session/prompt'] = () => {
    agent.say({
      id: 'q',
      method: 'session/request_permission',
      params: { sessionId: 's1', toolCall, options },
    })
  }
}
const usualOptions = [
  { optionId: 'always', kind: 'allow_always' },
  { optionId: 'once', kind: 'allow_once' },
  { optionId: 'no', kind: 'reject_once' },
]
const answerTo = (id: string): unknown => agent.heard.find((one) => one.id === id && !one.method)

async function answered(id: string): Promise<unknown> {
  await expect.poll(() => answerTo(id)).toBeDefined()
  return answerTo(id)
}

describe('a conversation', () => {
  test('tells the agent of one server, by its command, and of nothing that it may do outside', async () => {
    expect(await talk().prompt('Hello')).toBe('end_turn')
    expect(agent.methods()).toEqual([
      'initialize',
      'authenticate',
      'session/new',
      'session/set_mode',
      'session/prompt',
    ])
    const [initialize, authenticate, made, mode, prompt] = agent.heard.map(({ params }) => params)
    expect(initialize).toMatchObject({
      protocolVersion: 1,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    })
    expect(authenticate).toEqual({ methodId: 'key' })
    expect(made).toEqual({
      cwd: '/workspace',
      mcpServers: [{ name: 'sallyport', command: '/node', args: ['/shim'], env: [] }],
      _meta: { a: 1 },
    })
    expect(mode).toEqual({ sessionId: 's1', modeId: 'default' })
    expect(prompt).toEqual({ sessionId: 's1', prompt: [{ type: 'text', text: 'Hello' }] })
  })

  test('asks a second time in the same session', async () => {
    const one = talk()
    await one.prompt('a')
    await one.prompt('b')
    expect(agent.methods().filter((method) => method !== 'session/prompt')).toHaveLength(4)
  })

  test('tells what the agent says, calls and plans, in this order', async () => {
    agent.scripts['session/prompt'] = () => {
      agent.update({ sessionUpdate: 'plan', entries: [{ content: 'think' }, 7] })
      agent.update({ sessionUpdate: 'tool_call', toolCallId: 't', title: 'read' })
      agent.update({ sessionUpdate: 'tool_call_update', toolCallId: 't', status: 'in_progress' })
      agent.update({
        sessionUpdate: 'tool_call_update',
        toolCallId: 't',
        status: 'failed',
        title: 'read',
      })
      agent.update(chunk('é'))
      return { stopReason: 'max_tokens' }
    }
    expect(await talk().prompt('x')).toBe('max_tokens')
    expect(events).toEqual([
      { kind: 'plan', entries: ['think'] },
      { kind: 'tool', title: 'read', status: 'pending' },
      { kind: 'tool', title: 'read', status: 'failed' },
      { kind: 'text', text: 'é' },
    ])
  })

  test('answers a method that it does not know so, and goes on', async () => {
    agent.scripts['session/prompt'] = () => {
      agent.say({ id: 'f', method: 'fs/read_text_file', params: { path: '/etc/passwd' } })
      agent.say({ method: 'session/other', params: [] as unknown as Params })
      return { stopReason: 'end_turn' }
    }
    expect(await talk().prompt('x')).toBe('end_turn')
    expect(await answered('f')).toMatchObject({ error: { code: -32_601 } })
  })

  test('cancelled while the agent starts, a turn is over before it is asked; the next one is asked', async () => {
    const one = talk()
    agent.scripts['session/new'] = () => {
      one.cancel()
      return { sessionId: 's1' }
    }
    expect(await one.prompt('x')).toBe('cancelled')
    expect(agent.methods()).not.toContain('session/prompt')
    expect(await one.prompt('y')).toBe('end_turn')
  })

  test('a cancelled turn ends with the answer of the agent, and a question then asked is cancelled too', async () => {
    const one = talk()
    agent.scripts['session/prompt'] = (_, { heard }) => {
      const { id } = heard.at(-1) ?? {}
      agent.scripts['session/cancel'] = () => {
        agent.say({
          id: 'late',
          method: 'session/request_permission',
          params: { toolCall: {}, options: usualOptions },
        })
        agent.say({ id, result: { stopReason: 'cancelled' } })
      }
      one.cancel()
    }
    expect(await one.prompt('x')).toBe('cancelled')
    expect(await answered('late')).toMatchObject({ result: { outcome: { outcome: 'cancelled' } } })
    expect(asked).toEqual([])
  })
})

describe('a request for permission', () => {
  const call = { toolCallId: 't', title: 'mcp__sallyport__lab__read', kind: 'other' }

  test.each([
    [true, 'once'],
    [false, 'no'],
  ])('allowed %s is answered by the narrowest option of the agent', async (allowed, optionId) => {
    isAllowed = allowed
    asksFirst(call)
    void talk()
      .prompt('x')
      .catch(() => undefined)
    expect(await answered('q')).toMatchObject({
      result: { outcome: { outcome: 'selected', optionId } },
    })
    expect(asked).toMatchObject([{ sessionTool: 'lab__read', isOfServer: true }])
  })

  test('without an option that says it is answered by cancelled', async () => {
    isAllowed = false
    asksFirst(call, [{ optionId: 'always', kind: 'allow_always' }])
    void talk()
      .prompt('x')
      .catch(() => undefined)
    expect(await answered('q')).toMatchObject({ result: { outcome: { outcome: 'cancelled' } } })
  })

  test('is for the call that was told before under the same id', async () => {
    agent.scripts['session/prompt'] = () => {
      const rawInput = { server: 'sallyport', tool: 'lab__read', arguments: {} }
      agent.update({ sessionUpdate: 'tool_call', toolCallId: 't', kind: 'execute', rawInput })
      agent.say({
        id: 'q',
        method: 'session/request_permission',
        params: { toolCall: { toolCallId: 't' }, options: usualOptions },
      })
    }
    void talk()
      .prompt('x')
      .catch(() => undefined)
    await answered('q')
    expect(asked).toMatchObject([{ sessionTool: 'lab__read', kind: 'execute' }])
  })
})

describe('a question that nobody waits for any more', () => {
  const call = { toolCallId: 't', title: 'fetch', kind: 'fetch' }
  /** Who is asked says yes only once nobody waits for it. */
  const yesTooLate: AcpOwner['permits'] = (_, over) =>
    new Promise((resolve) => over.addEventListener('abort', () => resolve(true)))

  test('because the agent took it back is over for the person, and is answered so', async () => {
    permits = yesTooLate
    asksFirst(call)
    void talk()
      .prompt('x')
      .catch(() => undefined)
    await expect.poll(() => asked).toHaveLength(1)
    agent.say({ method: '$/cancel_request', params: { requestId: 'another' } })
    agent.say({ method: '$/cancel_request', params: { requestId: 'q' } })
    expect(await answered('q')).toMatchObject({ error: { code: -32_800 } })
  })

  test('because the turn was cancelled is over, and a yes that comes then allows nothing', async () => {
    permits = yesTooLate
    asksFirst(call)
    const one = talk()
    void one.prompt('x').catch(() => undefined)
    await expect.poll(() => asked).toHaveLength(1)
    one.cancel()
    expect(await answered('q')).toMatchObject({ result: { outcome: { outcome: 'cancelled' } } })
  })

  test('because the agent was killed is over, and the next agent gets no answer to it', async () => {
    permits = yesTooLate
    asksFirst(call)
    const first = agent.scripts['session/prompt'] as Script
    const turn = talk().prompt('x')
    await expect.poll(() => asked).toHaveLength(1)
    isAllowed = false
    permits = undefined
    agent.scripts['session/prompt'] = (params, one) => {
      // Asks under the same id as the one before did.
      one.scripts['session/prompt'] = () => ({ stopReason: 'end_turn' })
      return first(params, one)
    }
    agent.say({ method: restartedMethod })
    await answered('q')
    const answers = agent.heard.filter((one) => one.id === 'q' && !one.method)
    expect(answers).toMatchObject([
      { result: { outcome: { outcome: 'selected', optionId: 'no' } } },
    ])
    agent.stdout.end()
    await turn.catch(() => undefined)
  })

  test.each([
    ['before the first turn', false],
    ['between turns', true],
  ])('because there is no turn, %s, asks nobody, and allows nothing', async (_, hadTurn) => {
    const one = talk()
    if (hadTurn) await one.prompt('x')
    const params = { sessionId: 's1', toolCall: call, options: usualOptions }
    agent.say({ id: 'q', method: 'session/request_permission', params })
    expect(await answered('q')).toMatchObject({ result: { outcome: { outcome: 'cancelled' } } })
    expect(asked).toEqual([])
  })
})

describe('a form', () => {
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } }
  const ask = (params: Params): void => {
    agent.scripts['session/prompt'] = () => {
      agent.say({ id: 'e', method: 'elicitation/create', params: { sessionId: 's1', ...params } })
    }
  }
  const asks = (params: Params): Promise<unknown> => {
    ask(params)
    void talk()
      .prompt('x')
      .catch(() => undefined)
    return answered('e')
  }
  const form = { mode: 'form', message: 'Who?', requestedSchema }

  test.each<[string, boolean, unknown]>([
    ['is offered', true, { form: {} }],
    ['is not offered where nobody could fill it in', false, undefined],
  ])('%s', async (_, there, offered) => {
    takesForms = there
    await talk().prompt('x')
    const { clientCapabilities } = agent.heard[0]?.params ?? {}
    expect((clientCapabilities as Params)['elicitation']).toEqual(offered)
  })

  test.each<FormAnswer>([
    { action: 'accept', content: { name: 'Ann' } },
    { action: 'decline' },
    { action: 'cancel' },
  ])('is answered with what the person says: $action', async (said) => {
    answers = async () => said
    expect(await asks(form)).toMatchObject({ result: said })
    expect(forms).toMatchObject([{ message: 'Who?', fields: [{ key: 'name' }] }])
  })

  test.each<[string, Params]>([
    ['a page to open', { mode: 'url', message: 'x', url: 'http://evil.test/', elicitationId: 'a' }],
    ['a mode that is not known', { ...form, mode: '_other' }],
    ['fields that are not known', { ...form, requestedSchema: { properties: { a: {} } } }],
  ])('that is %s is shown to nobody, and cancelled', async (_, params) => {
    answers = async () => ({ action: 'accept', content: { name: 'Ann' } })
    expect(await asks(params)).toMatchObject({ result: { action: 'cancel' } })
    expect(forms).toEqual([])
  })

  test('of a turn that was cancelled is cancelled, whatever the person says then', async () => {
    const one = talk()
    ask(form)
    answers = async () => {
      one.cancel()
      return { action: 'accept', content: { name: 'Ann' } }
    }
    void one.prompt('x').catch(() => undefined)
    expect(await answered('e')).toMatchObject({ result: { action: 'cancel' } })
  })
})

describe('an agent that does not keep to the protocol', () => {
  test('says lines that are no messages: they are told, and the turn goes on', async () => {
    agent.scripts['session/prompt'] = () => {
      for (const line of ['hello', '[]', '7', '{"jsonrpc":', '\u0000\ufffd', ''])
        agent.stdout.write(`${line}\r\n`)
      agent.say({ id: 999, result: {} })
      agent.say({ id: null as unknown as number, error: { code: -32_700 } })
      return { stopReason: 'end_turn' }
    }
    expect(await talk().prompt('x')).toBe('end_turn')
    expect(events).toEqual(Array(5).fill({ kind: 'noise' }))
  })

  test('says a line without an end: nothing more of it is read, and the turn is over', async () => {
    agent.scripts['session/prompt'] = () => {
      const part = Buffer.alloc(1024 * 1024, 'x')
      for (let said = 0; said <= longestLine; said += part.length) agent.stdout.write(part)
    }
    await expect(talk().prompt('x')).rejects.toMatchObject({ code: 'agent_broken' })
    expect(agent.stdout.destroyed).toBe(true)
  })

  test('says a line in pieces, split within a letter, and is understood', async () => {
    agent.scripts['session/prompt'] = () => {
      const line = Buffer.from(
        `${JSON.stringify({ method: 'session/update', params: { update: chunk('é𝄞') } })}\n`,
      )
      for (const byte of line) agent.stdout.write(Buffer.of(byte))
      return { stopReason: 'end_turn' }
    }
    await talk().prompt('x')
    expect(events).toEqual([{ kind: 'text', text: 'é𝄞' }])
  })

  test.each([
    ['dies', (one: ScriptedAgent) => void one.stdout.end()],
    ['breaks', (one: ScriptedAgent) => void one.stdout.destroy(new Error('no'))],
    ['says no reason', () => ({})],
  ])('that %s in a turn is agent_broken', async (_, act) => {
    agent.scripts['session/prompt'] = () => act(agent)
    const one = talk()
    await expect(one.prompt('x')).rejects.toMatchObject({ code: 'agent_broken' })
  })

  test('that speaks another version is agent_broken, and is not asked anything', async () => {
    agent.scripts['initialize'] = () => ({ protocolVersion: 2 })
    await expect(talk().prompt('x')).rejects.toMatchObject({ code: 'agent_broken' })
    expect(agent.methods()).toEqual(['initialize'])
  })

  test('that answers with an error is agent_refused, and its words are told as its own', async () => {
    agent.scripts['session/new'] = () => {
      const { id } = agent.heard.at(-1) ?? {}
      agent.say({ id, error: { code: -32_000, message: 'sign in' } })
    }
    const refused = { code: 'agent_refused', field: 'session/new' }
    await expect(talk().prompt('x')).rejects.toMatchObject(refused)
    expect(events).toEqual([{ kind: 'refusal', text: 'sign in' }])
  })

  test('that is gone is agent_broken at once for what is asked then', async () => {
    const one = talk()
    await one.prompt('x')
    agent.stdout.destroy()
    await expect(one.prompt('y')).rejects.toMatchObject({ code: 'agent_broken' })
  })
})

describe('an agent that was killed and started again', () => {
  const dies: Script = (_, one) => one.say({ method: restartedMethod })

  test('in a turn gets its session loaded with the same server, and is asked again', async () => {
    agent.scripts['session/prompt'] = (params, one) => {
      one.scripts['session/prompt'] = () => ({ stopReason: 'end_turn' })
      return dies(params, one)
    }
    agent.scripts['session/load'] = () => {
      agent.update(chunk('of the past'))
      return {}
    }
    expect(await talk().prompt('Do it')).toBe('end_turn')
    const begun = ['initialize', 'authenticate']
    const asks = ['session/set_mode', 'session/prompt']
    expect(agent.methods()).toEqual([
      ...begun,
      'session/new',
      ...asks,
      ...begun,
      'session/load',
      ...asks,
    ])
    const load = agent.heard.find(({ method }) => method === 'session/load')
    expect(load?.params).toEqual({
      sessionId: 's1',
      cwd: '/workspace',
      mcpServers: [{ name: 'sallyport', command: '/node', args: ['/shim'], env: [] }],
      _meta: { a: 1 },
    })
    expect(JSON.stringify(agent.heard.at(-1)?.params)).toContain('Do it')
    expect(events).toEqual([{ kind: 'restarted' }])
  })

  test('between turns gets its session loaded before the next, which is asked as it is', async () => {
    const one = talk()
    await one.prompt('a')
    agent.say({ method: restartedMethod })
    agent.update(chunk('heard'))
    await expect.poll(() => events.length).toBe(1)
    await one.prompt('b')
    expect(agent.methods()).toContain('session/load')
    expect(agent.heard.at(-1)?.params).toEqual({
      sessionId: 's1',
      prompt: [{ type: 'text', text: 'b' }],
    })
  })

  test('that cannot load a session is agent_broken', async () => {
    agent.scripts['initialize'] = () => ({ protocolVersion: 1 })
    agent.scripts['session/prompt'] = dies
    await expect(talk().prompt('x')).rejects.toMatchObject({ code: 'agent_broken' })
  })

  test('that has not kept its first turn gets a new session; one that has lost its past is agent_refused', async () => {
    const refuse = (): void => {
      const { id } = agent.heard.at(-1) ?? {}
      agent.say({ id, error: { code: -32_603, message: 'not kept' } })
    }
    const once: Script = (params, one) => {
      one.scripts['session/prompt'] = () => ({ stopReason: 'end_turn' })
      return dies(params, one)
    }
    agent.scripts['session/load'] = refuse
    agent.scripts['session/prompt'] = once
    const one = talk()
    expect(await one.prompt('x')).toBe('end_turn')
    expect(agent.methods().filter((method) => method === 'session/new')).toHaveLength(2)
    agent.scripts['session/prompt'] = once
    await expect(one.prompt('y')).rejects.toMatchObject({ code: 'agent_refused' })
  })

  test('again and again is agent_broken in the end', async () => {
    agent.scripts['session/prompt'] = dies
    await expect(talk().prompt('x')).rejects.toMatchObject({ code: 'agent_broken' })
    expect(agent.methods().filter((method) => method === 'session/load')).toHaveLength(3)
  })
})
