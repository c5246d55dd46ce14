/** Anthropic Messages, as far as Claude Code uses it. */

import { anthropicRules, refusalOf } from './fake-provider-rules.ts'
import {
  type Answer,
  type Decision,
  type Declared,
  decide,
  type Json,
  type Turn,
} from './fake-script.ts'

interface Block extends Json {
  readonly type: string
  readonly id?: string
  readonly name?: string
  readonly text?: string
  readonly input?: { readonly query?: string }
  readonly tool_use_id?: string
  readonly is_error?: boolean
  readonly content?: unknown
}
interface Message {
  readonly role: string
  readonly content: string | readonly Block[]
}
export interface MessagesRequest extends Json {
  readonly model: string
  readonly stream?: boolean
  readonly messages: readonly Message[]
  readonly tools?: readonly { readonly name: string; readonly input_schema?: unknown }[]
}

const searchTool = 'ToolSearch'

export function answerMessages(
  request: MessagesRequest,
  newId: (prefix: string) => string,
): Answer {
  const tools = request.tools ?? []
  const refusal = refusalOf(
    // Tools the provider defines itself come without a schema.
    tools
      .filter((tool) => tool.input_schema)
      .map((tool) => ({ name: tool.name, schema: tool.input_schema })),
    anthropicRules,
  )
  if (refusal) {
    const error = { type: 'invalid_request_error', message: refusal }
    return { status: 400, json: { type: 'error', error } }
  }
  const { turns, deferred, fetched } = readMessages(request.messages)
  const declared: Declared[] = tools.map((tool) => ({ name: tool.name }))
  const known = new Set(declared.map((tool) => tool.name))
  if (known.has(searchTool)) {
    for (const name of deferred)
      if (!known.has(name)) declared.push({ name, deferred: !fetched.has(name) })
  }
  const decision = decide(turns, declared)
  const block = blockOf(decision, newId)
  return { decision, ...render(request, block, newId('msg')) }
}

/**
 * Claude Code names the tools it holds back in a text of the conversation, one a line, and hands their schemas out
 * through ToolSearch. What ToolSearch answers is no result of the script.
 */
function readMessages(messages: readonly Message[]) {
  const turns: Turn[] = []
  const searches = new Set<string>()
  const fetched = new Set<string>()
  const deferred = new Set<string>()
  for (const message of messages) {
    for (const block of blocksOf(message)) {
      if (block.type === 'tool_use' && block.name === searchTool) {
        searches.add(block.id ?? '')
        for (const name of (block.input?.query ?? '').replace(/^select:/, '').split(','))
          fetched.add(name)
      } else if (block.type === 'text' && message.role !== 'assistant') {
        turns.push({ prompt: block.text ?? '' })
        for (const [name] of (block.text ?? '').matchAll(/^mcp__\S+$/gm)) deferred.add(name)
      } else if (block.type === 'tool_result' && !searches.has(block.tool_use_id ?? '')) {
        turns.push({ result: { is_error: block.is_error ?? false, content: block.content } })
      }
    }
  }
  return { turns, deferred, fetched }
}

function blocksOf(message: Message): readonly Block[] {
  return typeof message.content === 'string'
    ? [{ type: 'text', text: message.content }]
    : message.content
}

function blockOf(decision: Decision, newId: (prefix: string) => string): Block {
  if (decision.kind !== 'call') return { type: 'text', text: decision.text }
  const { tool, args } = decision
  return tool.deferred
    ? {
        type: 'tool_use',
        id: newId('toolu'),
        name: searchTool,
        input: { query: `select:${tool.name}` },
      }
    : { type: 'tool_use', id: newId('toolu'), name: tool.name, input: args }
}

function render(
  request: MessagesRequest,
  block: Block,
  id: string,
): Pick<Answer, 'status' | 'json' | 'events'> {
  const stop_reason = block.type === 'tool_use' ? 'tool_use' : 'end_turn'
  const usage = { input_tokens: 10, output_tokens: 5 }
  const message = {
    id,
    type: 'message',
    role: 'assistant',
    model: request.model,
    stop_sequence: null,
    usage,
  }
  if (!request.stream) return { status: 200, json: { ...message, content: [block], stop_reason } }
  const [empty, delta] =
    block.type === 'text'
      ? [
          { type: 'text', text: '' },
          { type: 'text_delta', text: block.text },
        ]
      : [
          { ...block, input: {} },
          { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
        ]
  const events = [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: empty },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason, stop_sequence: null },
      usage: { output_tokens: 5 },
    },
    { type: 'message_stop' },
  ]
  return { status: 200, events }
}
