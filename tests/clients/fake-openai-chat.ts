/** OpenAI Chat Completions, as far as OpenCode and Pi use it. */
import { openaiRules, refusalOf } from './fake-provider-rules.ts'
import {
  type Answer,
  type Chunk,
  type Decision,
  decide,
  type Json,
  type Turn,
} from './fake-script.ts'

interface Message {
  readonly role: string
  readonly content?: string | readonly { readonly text?: string }[] | null
}
export interface ChatRequest extends Json {
  readonly model: string
  readonly stream?: boolean
  readonly messages: readonly Message[]
  readonly tools?: readonly { readonly function: { name: string; parameters?: unknown } }[]
}
type NewId = (prefix: string) => string

export function answerChat(request: ChatRequest, newId: NewId): Answer {
  const tools = (request.tools ?? []).map((tool) => tool.function)
  const refusal = refusalOf(
    tools.map(({ name, parameters }) => ({ name, schema: parameters })),
    openaiRules,
  )
  if (refusal) {
    const error = {
      type: 'invalid_request_error',
      code: 'invalid_function_parameters',
      message: refusal,
    }
    return { status: 400, json: { error } }
  }
  const decision = decide(
    readMessages(request.messages),
    tools.map(({ name }) => ({ name })),
  )
  return { decision, ...render(request, decision, newId) }
}

function readMessages(messages: readonly Message[]): Turn[] {
  return messages.flatMap(({ role, content }): Turn[] => {
    if (role === 'tool') return [{ result: content }]
    if (role !== 'user') return []
    const parts = typeof content === 'string' ? [{ text: content }] : (content ?? [])
    return parts.map((part) => ({ prompt: part.text ?? '' }))
  })
}

function render(
  { model, stream }: ChatRequest,
  decision: Decision,
  newId: NewId,
): Pick<Answer, 'status' | 'json' | 'chunks'> {
  const message = messageOf(decision, newId)
  const finish_reason = decision.kind === 'call' ? 'tool_calls' : 'stop'
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  const base = { id: newId('chatcmpl'), created: 0, model }
  if (!stream) {
    const choices = [{ index: 0, message, finish_reason }]
    return { status: 200, json: { ...base, object: 'chat.completion', choices, usage } }
  }
  const chunk = (choices: readonly Json[], more: Json = {}): Chunk => ({
    ...base,
    object: 'chat.completion.chunk',
    choices,
    ...more,
  })
  const chunks = [
    chunk([{ index: 0, delta: message, finish_reason: null }]),
    chunk([{ index: 0, delta: {}, finish_reason }]),
    chunk([], { usage }),
    '[DONE]' as const,
  ]
  return { status: 200, chunks }
}

function messageOf(decision: Decision, newId: NewId): Json {
  if (decision.kind !== 'call') return { role: 'assistant', content: decision.text }
  const called = { name: decision.tool.name, arguments: JSON.stringify(decision.args) }
  const call = { index: 0, id: newId('call'), type: 'function', function: called }
  return { role: 'assistant', content: null, tool_calls: [call] }
}
