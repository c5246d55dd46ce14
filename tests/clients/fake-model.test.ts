import { afterEach, beforeEach, expect, test } from 'vitest'
import { type FakeModel, startFakeModel } from './fake-model.ts'

let model: FakeModel
beforeEach(async () => {
  model = await startFakeModel()
})
afterEach(() => model.close())

interface Answer {
  readonly choices: { message: { content: string | null; tool_calls?: unknown[] } }[]
  readonly candidates: { content: { parts: unknown[] } }[]
  readonly content: { type: string; id: string; text?: string }[]
  readonly output: { type: string; content: { text: string }[] }[]
  readonly error: { type: string; message: string }
}
async function post(path: string, body: unknown): Promise<{ status: number; body: Answer }> {
  const answer = await fetch(model.url + path, { method: 'POST', body: JSON.stringify(body) })
  return { status: answer.status, body: (await answer.json()) as Answer }
}

async function postText(path: string, body: unknown): Promise<string> {
  const answer = await fetch(model.url + path, { method: 'POST', body: JSON.stringify(body) })
  expect(answer.headers.get('content-type')).toBe('text/event-stream')
  return await answer.text()
}

const plain = { type: 'object', properties: { by: { type: 'integer' } } }
const claudeTool = (name: string, schema: unknown = plain) => ({ name, input_schema: schema })
const prompt = (text: string) => ({ role: 'user', content: [{ type: 'text', text }] })
const ask = (tools: unknown[], ...messages: unknown[]) =>
  post('/v1/messages', { model: 'm', tools, messages })

test('claude: calls the scripted tool, then says FINAL with the result as it came', async () => {
  const tools = [claudeTool('mcp__lab__add')]
  const first = await ask(tools, prompt('please\n@call lab:add {"by":2}'))
  expect(first.body.content).toEqual([
    { type: 'tool_use', id: expect.any(String), name: 'mcp__lab__add', input: { by: 2 } },
  ])
  const used = { role: 'assistant', content: first.body.content }
  const result = { type: 'tool_result', tool_use_id: first.body.content[0]?.id, content: 'three' }
  const second = await ask(tools, prompt('@call lab:add {"by":2}'), used, {
    role: 'user',
    content: [result],
  })
  expect(second.body.content[0]?.text).toBe('FINAL [{"is_error":false,"content":"three"}]')
  expect(model.results()).toEqual([{ is_error: false, content: 'three' }])
  expect(model.requests).toHaveLength(2)
})

test('claude: a tool held back is asked for through ToolSearch first', async () => {
  const listed = { role: 'user', content: 'deferred:\nmcp__lab__add\n' }
  const tools = [claudeTool('ToolSearch')]
  const { body } = await ask(tools, listed, prompt('@call lab:add {}'))
  expect(body.content[0]).toMatchObject({
    name: 'ToolSearch',
    input: { query: 'select:mcp__lab__add' },
  })
})

test('a server whose name only begins alike is another server', async () => {
  const { body } = await ask([claudeTool('mcp__labstdio__add')], prompt('@call lab:add {}'))
  expect(body.content[0]?.text).toMatch(/^NOT DECLARED lab:add/)
  const control = await ask([claudeTool('mcp__lab__add')], prompt('@call lab:add {}'))
  expect(control.body.content[0]?.type).toBe('tool_use')
})

test.each(['@call', '@collect'])(
  '%s: only what is collected is asked for again, unchanged',
  async (word) => {
    const tools = [claudeTool('mcp__lab__add'), claudeTool('mcp__lab__read')]
    const answered = async (...texts: string[]) => {
      const results = texts.map((content) => ({
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'c', content }],
      }))
      const script = prompt(`${word} lab:add {"by":2}\n@call lab:read {}`)
      return (await ask(tools, script, ...results)).body.content[0]
    }
    const again = { name: `mcp__lab__${word === '@collect' ? 'add' : 'read'}` }
    for (const open of ['Next: call again with exactly the same arguments.', 'Request timed out']) {
      expect(await answered(open)).toMatchObject(again)
      if (word === '@collect')
        expect(await answered(open, open)).toMatchObject({ input: { by: 2 } })
    }
    expect(await answered('three')).toMatchObject({ name: 'mcp__lab__read' })
  },
)

test('a request without tools does not start the script', async () => {
  const { body } = await ask([], prompt('@call lab:add {}'))
  expect(body.content[0]?.type).toBe('text')
})

test.each(['oneOf', 'anyOf', 'allOf', '$ref'])(
  'claude: refuses a schema with %s at the top',
  async (word) => {
    const { status, body } = await ask([claudeTool('t', { ...plain, [word]: [] })], prompt('hello'))
    expect(status).toBe(400)
    expect(body.error.type).toBe('invalid_request_error')
    expect(body.error.message).toContain(word)
    const inside = { type: 'object', properties: { by: { [word]: [] } } }
    expect((await ask([claudeTool('t', inside)], prompt('hello'))).status).toBe(200)
  },
)

test('claude: refuses a name of 129 characters and takes one of 128', async () => {
  expect((await ask([claudeTool('n'.repeat(129))], prompt('hello'))).status).toBe(400)
  expect((await ask([claudeTool('n'.repeat(128))], prompt('hello'))).status).toBe(200)
})

const user = (text: string) => ({
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text }],
})
const codexTools = (name: string, parameters: unknown = plain) => [
  { type: 'namespace', name: 'mcp__lab', tools: [{ type: 'function', name, parameters }] },
]
const respond = (tools: unknown[], ...input: unknown[]) =>
  post('/v1/responses', { model: 'm', tools, input })

test('codex: calls the scripted tool in its namespace, then says FINAL with the result', async () => {
  const script = user('@call lab:add {"by":2}')
  const first = await respond(codexTools('add'), script)
  expect(first.body.output[0]).toMatchObject({
    type: 'function_call',
    namespace: 'mcp__lab',
    name: 'add',
    arguments: '{"by":2}',
  })
  const output = { type: 'function_call_output', call_id: 'c', output: [{ text: 'three' }] }
  const second = await respond(codexTools('add'), script, first.body.output[0], output)
  expect(second.body.output[0]?.content[0]?.text).toBe('FINAL [[{"text":"three"}]]')
  expect(model.results()).toEqual([[{ text: 'three' }]])
})

test('codex: searches once for a tool held back, and takes it from what was found', async () => {
  const search = [{ type: 'tool_search' }]
  const script = user('@call lab:counter_add {}')
  const first = await respond(search, script)
  const call = first.body.output[0]
  expect(call).toMatchObject({ type: 'tool_search_call', arguments: { query: 'counter add' } })
  const found = { type: 'tool_search_output', tools: codexTools('counter_add') }
  const second = await respond(search, script, call, found)
  expect(second.body.output[0]).toMatchObject({ type: 'function_call', name: 'counter_add' })
  const nothing = await respond(search, script, call, { type: 'tool_search_output', tools: [] })
  expect(nothing.body.output[0]?.content[0]?.text).toMatch(/^NOT DECLARED/)
})

test.each(['oneOf', 'anyOf', 'allOf', 'enum', 'not', '$ref'])(
  'codex: refuses a schema with %s at the top, also in a namespace',
  async (word) => {
    const { status, body } = await respond(codexTools('t', { ...plain, [word]: [] }), user('hello'))
    expect(status).toBe(400)
    expect(body.error.message).toContain(word)
    expect((await respond(codexTools('t'), user('hello'))).status).toBe(200)
  },
)

test('codex: the limit of 64 characters counts the namespace', async () => {
  const room = 64 - 'mcp__lab__'.length
  expect((await respond(codexTools('n'.repeat(room + 1)), user('hello'))).status).toBe(400)
  expect((await respond(codexTools('n'.repeat(room)), user('hello'))).status).toBe(200)
})

const chatTool = (name: string, parameters: unknown = plain) => ({
  type: 'function',
  function: { name, parameters },
})
const chat = (tools: unknown[], ...messages: unknown[]) =>
  post('/v1/chat/completions', { model: 'm', tools, messages })

test.each(['lab_add', 'mcp__lab__add'])(
  'chat: calls the scripted tool under the name %s, then says FINAL with the result',
  async (name) => {
    const script = { role: 'user', content: '@call lab:add {"by":2}' }
    const first = await chat([chatTool(name)], script)
    expect(first.body.choices[0]?.message.tool_calls).toEqual([
      {
        index: 0,
        id: expect.any(String),
        type: 'function',
        function: { name, arguments: '{"by":2}' },
      },
    ])
    const called = first.body.choices[0]?.message
    const result = { role: 'tool', tool_call_id: 'c', content: 'three' }
    const second = await chat([chatTool(name)], script, called, result)
    expect(second.body.choices[0]?.message.content).toBe('FINAL ["three"]')
    expect(model.results()).toEqual(['three'])
  },
)

test('chat: refuses what OpenAI refuses about schemas and names', async () => {
  const hello = { role: 'user', content: [{ type: 'text', text: 'hello' }] }
  const refused = [chatTool('t', { ...plain, anyOf: [] }), chatTool('n'.repeat(65))]
  for (const tool of refused) expect((await chat([tool], hello)).status).toBe(400)
  expect((await chat([chatTool('n'.repeat(64))], hello)).status).toBe(200)
})

test('chat: streams nameless events with DONE at the end', async () => {
  const body = { model: 'm', stream: true, messages: [{ role: 'user', content: 'hello' }] }
  const said = await postText('/v1/chat/completions', body)
  expect(said.startsWith('data: {"id":')).toBe(true)
  expect(said.endsWith('data: [DONE]\n\n')).toBe(true)
})

const geminiTool = (name: string, parametersJsonSchema: unknown = plain) => ({
  functionDeclarations: [{ name, parametersJsonSchema }],
})
const generate = (tools: unknown[], ...contents: unknown[]) =>
  post('/v1beta/models/m:generateContent', { tools, contents })
const said = (text: string) => ({ role: 'user', parts: [{ text }] })

test('gemini: calls the scripted tool, then says FINAL with the response', async () => {
  const tools = [geminiTool('mcp_lab_add')]
  const script = said('@call lab:add {"by":2}')
  const first = await generate(tools, script)
  const call = { functionCall: { name: 'mcp_lab_add', args: { by: 2 } } }
  expect(first.body.candidates[0]?.content.parts).toEqual([call])
  const response = { functionResponse: { name: 'mcp_lab_add', response: { output: 'three' } } }
  const called = { role: 'model', parts: [call] }
  const second = await generate(tools, script, called, { role: 'user', parts: [response] })
  expect(second.body.candidates[0]?.content.parts).toEqual([{ text: 'FINAL [{"output":"three"}]' }])
  expect(model.results()).toEqual([{ output: 'three' }])
})

test('gemini: refuses a name it does not know and a reference that leads nowhere', async () => {
  const properties = { by: { $ref: '#/$defs/amount' } }
  const lost = { type: 'object', properties }
  const found = { ...lost, $defs: { amount: { type: 'integer' } } }
  const status = async (tool: unknown) => (await generate([tool], said('hello'))).status
  expect(await status(geminiTool('1st'))).toBe(400)
  expect(await status(geminiTool('n'.repeat(65)))).toBe(400)
  expect(await status(geminiTool('t', lost))).toBe(400)
  expect(await status(geminiTool('t', found))).toBe(200)
  expect(await status(geminiTool('first.1'))).toBe(200)
})

test('gemini: streams when the path says so', async () => {
  const stream = '/v1beta/models/m:streamGenerateContent?alt=sse'
  const answer = await postText(stream, { contents: [said('hello')] })
  expect(answer).toMatch(/^data: \{"candidates":.*\}\n\n$/)
})

test('streams the answer as named events', async () => {
  const stream = { model: 'm', stream: true, tools: [], messages: [prompt('hello')] }
  const answer = await postText('/v1/messages', stream)
  const names = [...answer.matchAll(/^event: (.+)$/gm)].map((match) => match[1])
  expect(names).toEqual([
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
})
