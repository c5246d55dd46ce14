/** What an agent tells of its turn, for whoever watches it. */
import { isObject, type Params } from './json-lines.ts'

export type AcpEvent =
  /** Of the model's answer, as it comes. */
  | { readonly kind: 'text'; readonly text: string }
  /** A tool's call has begun, or ended. */
  | { readonly kind: 'tool'; readonly title: string; readonly status: ToolStatus }
  | { readonly kind: 'plan'; readonly entries: readonly string[] }
  /** The words with which the agent refused a request. */
  | { readonly kind: 'refusal'; readonly text: string }
  | { readonly kind: 'restarted' }
  /** Something that is no message. */
  | { readonly kind: 'noise' }

const statuses = ['pending', 'in_progress', 'completed', 'failed'] as const
type ToolStatus = (typeof statuses)[number]

/** Undefined for what is not shown. */
export function eventOf(update: Params): AcpEvent | undefined {
  switch (update['sessionUpdate']) {
    case 'agent_message_chunk':
      return textOf(update['content'])
    case 'tool_call':
    case 'tool_call_update':
      return toolOf(update)
    case 'plan':
      return planOf(update['entries'])
    default:
      return undefined
  }
}

function textOf(content: unknown): AcpEvent | undefined {
  const text = isObject(content) ? content['text'] : undefined
  return typeof text === 'string' ? { kind: 'text', text } : undefined
}

function toolOf({ sessionUpdate, title, status, toolCallId }: Params): AcpEvent | undefined {
  const found = statuses.find((one) => one === status) ?? 'pending'
  const isEnd = found === 'completed' || found === 'failed'
  if (sessionUpdate === 'tool_call_update' && !isEnd) return undefined
  const name = typeof title === 'string' ? title : String(toolCallId)
  return { kind: 'tool', title: name, status: found }
}

function planOf(entries: unknown): AcpEvent | undefined {
  if (!Array.isArray(entries)) return undefined
  const texts = entries.map((entry) => (isObject(entry) ? entry['content'] : undefined))
  return { kind: 'plan', entries: texts.filter((text) => typeof text === 'string') }
}
