/** A client of a few lines that treats a call that waits as it is told to: the control of every outcome. */
import type { ClientRun, GuestServer, Job } from '../../../../tests/clients/client-run.ts'
import type { Harness } from '../trial.ts'

export type Manner = 'patient' | 'gives up' | 'sends twice' | 'forgets' | 'calls nothing'

export const scriptedHarness = (manner: Manner): Harness => ({
  name: manner,
  version: '1',
  program: 'none',
  start: async (job: Job): Promise<ClientRun> => {
    const leave = new AbortController()
    const done = converse(job, manner, leave.signal).then(
      () => ({ code: 0, stdout: '', stderr: '' }),
      (thrown: unknown) => ({ code: 1, stdout: '', stderr: String(thrown) }),
    )
    return { pid: process.pid, folder: '', ended: done, remove: async () => leave.abort() }
  },
})

interface Called {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}

async function converse(job: Job, manner: Manner, leave: AbortSignal): Promise<void> {
  const messages: unknown[] = [{ role: 'user', content: job.prompt }]
  for (;;) {
    const message = await askModel(job.modelUrl, messages, leave)
    const [call] = message.tool_calls ?? []
    if (!call || manner === 'calls nothing') return
    messages.push(message)
    const content = await answerOf(job.server, call, manner, leave)
    if (manner === 'forgets') return
    messages.push({ role: 'tool', tool_call_id: call.id, content })
  }
}

async function askModel(url: string, messages: readonly unknown[], signal: AbortSignal) {
  const tools = ['store', 'look'].map((tool) => ({
    type: 'function',
    function: { name: `mcp__lab__${tool}`, parameters: { type: 'object', properties: {} } },
  }))
  const body = JSON.stringify({ model: 'fake-model', messages, tools })
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body, signal })
  const { choices } = (await response.json()) as {
    choices: [{ message: { tool_calls?: readonly Called[] } }]
  }
  return choices[0].message
}

async function answerOf(
  server: GuestServer,
  { function: called }: Called,
  manner: Manner,
  leave: AbortSignal,
): Promise<string> {
  const name = called.name.replace('mcp__lab__', '')
  const isHeld = name === 'store'
  const params = { name, arguments: JSON.parse(called.arguments) }
  if (isHeld && (manner === 'gives up' || manner === 'sends twice')) {
    // The head of the answer is the sign that the call is held.
    const mine = new AbortController()
    await call(server, params, mine.signal)
    mine.abort()
    if (manner === 'gives up') return 'The request timed out.'
  }
  return await (await call(server, params, leave)).text()
}

function call(server: GuestServer, params: unknown, signal: AbortSignal): Promise<Response> {
  return fetch(server.endpoint, {
    method: 'POST',
    signal,
    headers: {
      authorization: `Bearer ${server.token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: crypto.randomUUID(), method: 'tools/call', params }),
  })
}
