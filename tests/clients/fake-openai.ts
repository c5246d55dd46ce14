/** OpenAI Responses, as far as Codex uses it. */
import { type OfferedTool, openaiRules, refusalOf } from './fake-provider-rules.ts'
import {
  type Answer,
  type Decision,
  type Declared,
  decide,
  type Json,
  type Turn,
} from './fake-script.ts'

interface Tool {
  readonly type: string
  readonly name?: string
  readonly parameters?: unknown
  readonly tools?: readonly Tool[]
}
interface Item extends Json {
  readonly type: string
  readonly role?: string
  readonly content?: readonly { readonly text?: string }[]
  readonly output?: unknown
  readonly tools?: readonly Tool[]
  readonly arguments?: unknown
}
export interface ResponsesRequest extends Json {
  readonly model: string
  readonly stream?: boolean
  readonly input: readonly Item[]
  readonly tools?: readonly Tool[]
}
type NewId = (prefix: string) => string

export function answerResponses(request: ResponsesRequest, newId: NewId): Answer {
  // What a search found stays in the conversation as items that carry tools.
  const found = request.input.flatMap((item) => item.tools ?? [])
  const tools = flatten([...(request.tools ?? []), ...found])
  const refusal = refusalOf(unique(tools.flatMap(offered)), openaiRules)
  if (refusal) {
    const error = {
      type: 'invalid_request_error',
      code: 'invalid_function_parameters',
      message: refusal,
    }
    return { status: 400, json: { error } }
  }
  const decision = decide(readInput(request.input), tools.map(declared))
  const item = searchFor(decision, request, newId) ?? itemOf(decision, newId)
  return { decision, ...render(request, item, newId('resp')) }
}

interface PlacedTool extends Tool {
  readonly namespace?: string
}

function flatten(tools: readonly Tool[]): PlacedTool[] {
  return tools.flatMap((tool) =>
    tool.type === 'namespace'
      ? (tool.tools ?? []).map((inner) => ({ ...inner, namespace: tool.name ?? '' }))
      : [tool],
  )
}

function offered(tool: PlacedTool): OfferedTool[] {
  if (tool.type !== 'function') return []
  const name = tool.namespace ? `${tool.namespace}__${tool.name}` : (tool.name ?? '')
  return [{ name, schema: tool.parameters }]
}

/** The same tool may be found by two searches. */
function unique(tools: readonly OfferedTool[]): OfferedTool[] {
  return [...new Map(tools.map((tool) => [tool.name, tool])).values()]
}

function declared(tool: PlacedTool): Declared {
  const name = tool.name ?? tool.type
  return tool.namespace === undefined ? { name } : { name, namespace: tool.namespace }
}

function readInput(input: readonly Item[]): Turn[] {
  return input.flatMap((item): Turn[] => {
    if (item.type === 'message' && item.role === 'user')
      return (item.content ?? []).map((part) => ({ prompt: part.text ?? '' }))
    const isResult = item.type.endsWith('_output') && item.type !== 'tool_search_output'
    return isResult ? [{ result: item.output }] : []
  })
}

/** Codex holds tools back behind its own search for models it knows: asked once for each name that is missing. */
function searchFor(decision: Decision, request: ResponsesRequest, newId: NewId): Item | undefined {
  const canSearch = request.tools?.some((tool) => tool.type === 'tool_search')
  if (decision.kind !== 'missing' || !canSearch) return undefined
  const query = decision.name.replace(/^.*:/, '').replaceAll('_', ' ')
  const asked = request.input.some(
    (item) => item.type === 'tool_search_call' && JSON.stringify(item.arguments).includes(query),
  )
  if (asked) return undefined
  const ids = { id: newId('tsc'), call_id: newId('call') }
  return {
    type: 'tool_search_call',
    ...ids,
    execution: 'client',
    status: 'completed',
    arguments: { query, limit: 8 },
  }
}

function itemOf(decision: Decision, newId: NewId): Item {
  if (decision.kind !== 'call') {
    const content = [{ type: 'output_text', text: decision.text, annotations: [] }]
    return { type: 'message', id: newId('msg'), role: 'assistant', status: 'completed', content }
  }
  const { tool, args } = decision
  const place = tool.namespace === undefined ? {} : { namespace: tool.namespace }
  const ids = { id: newId('fc'), call_id: newId('call') }
  return {
    type: 'function_call',
    ...ids,
    ...place,
    name: tool.name,
    arguments: JSON.stringify(args),
    status: 'completed',
  }
}

function render(
  request: ResponsesRequest,
  item: Item,
  id: string,
): Pick<Answer, 'status' | 'json' | 'events'> {
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 15,
  }
  const response = {
    id,
    object: 'response',
    created_at: 0,
    model: request.model,
    status: 'completed',
    output: [item],
    usage,
  }
  if (!request.stream) return { status: 200, json: response }
  const started = {
    ...item,
    status: 'in_progress',
    ...(item.type === 'message' ? { content: [] } : {}),
  }
  const events = [
    {
      type: 'response.created',
      response: { ...response, status: 'in_progress', output: [], usage: null },
    },
    { type: 'response.output_item.added', output_index: 0, item: started },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response },
  ]
  return { status: 200, events }
}
