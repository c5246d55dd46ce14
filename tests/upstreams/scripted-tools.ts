/** The tools a scripted upstream offers unless told otherwise. */
import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

export interface ToolCall {
  readonly arguments: Readonly<Record<string, unknown>>
  readonly meta: Readonly<Record<string, unknown>> | undefined
  readonly headers: IncomingHttpHeaders
  /** Path and query the request came to. */
  readonly url: string
  readonly state: UpstreamState
  progress(progress: number, total?: number, message?: string): void
}

/** What a call may change. The counter starts at random, so that no answer can be guessed. */
export interface UpstreamState {
  counter: number
  effects: number
}

export type ToolOutcome =
  | { readonly result: Readonly<Record<string, unknown>> }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } }

export interface ScriptedTool {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema?: Readonly<Record<string, unknown>>
  readonly outputSchema?: Readonly<Record<string, unknown>>
  readonly annotations?: Readonly<Record<string, unknown>>
  /** Left out: answers the text `ok`. */
  readonly run?: (call: ToolCall) => ToolOutcome | Promise<ToolOutcome>
}

export function text(value: string, more: Record<string, unknown> = {}): ToolOutcome {
  return { result: { content: [{ type: 'text', text: value }], ...more } }
}

const object = (properties: Record<string, unknown> = {}, required: string[] = []) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
const integer = { type: 'integer', minimum: 0 }

export const defaultTools: readonly ScriptedTool[] = [
  {
    name: 'counter_read',
    description: 'Reads the counter.',
    inputSchema: object(),
    annotations: { readOnlyHint: true },
    run: ({ state }) => text(String(state.counter)),
  },
  {
    name: 'counter_add',
    description: 'Adds to the counter.',
    inputSchema: object({ by: { type: 'integer' } }, ['by']),
    annotations: { readOnlyHint: false, destructiveHint: false },
    run: ({ state, arguments: { by } }) => {
      state.effects++
      state.counter += Number(by)
      return text(String(state.counter))
    },
  },
  {
    name: 'echo',
    description: 'Says its arguments.',
    inputSchema: { type: 'object', additionalProperties: true },
    annotations: { readOnlyHint: true },
    run: (call) => text(JSON.stringify(call.arguments)),
  },
  {
    name: 'report',
    description: 'Says one thing in text and another in structure.',
    inputSchema: object(),
    outputSchema: object({ value: { type: 'integer' } }, ['value']),
    annotations: { readOnlyHint: true },
    run: ({ state }) =>
      text('The report is in the structure.', { structuredContent: { value: state.counter } }),
  },
  {
    name: 'fails',
    description: 'Answers with an error of its own.',
    inputSchema: object(),
    run: () => text('The thing could not be done.', { isError: true }),
  },
  {
    name: 'rpc_error',
    description: 'Answers with a protocol error.',
    inputSchema: object(),
    run: () => ({ error: { code: -32042, message: 'no such thing', data: { why: 'scripted' } } }),
  },
  {
    name: 'slow',
    description: 'Takes its time.',
    inputSchema: object({ ms: integer }, ['ms']),
    run: async ({ arguments: { ms } }) => {
      await delay(Number(ms))
      return text('late')
    },
  },
  {
    name: 'big',
    description: 'Answers with that many characters.',
    inputSchema: object({ bytes: integer }, ['bytes']),
    annotations: { readOnlyHint: true },
    run: ({ arguments: { bytes } }) => text('x'.repeat(Number(bytes))),
  },
  {
    name: 'leak',
    description: 'Says the credential it was called with.',
    inputSchema: object({ as: { enum: ['raw', 'percent', 'base64'] } }),
    run: ({ headers, arguments: { as } }) => text(disguise(headers.authorization ?? '', as)),
  },
  {
    name: 'progress',
    description: 'Tells its progress.',
    inputSchema: object({ steps: integer }, ['steps']),
    run: ({ arguments: { steps }, progress }) => {
      const last = Number(steps)
      for (let step = 1; step <= last; step++) progress(step, last, `step ${step}`)
      return text('done')
    },
  },
  {
    name: 'whoami',
    description: 'Says what it was sent.',
    inputSchema: { type: 'object', additionalProperties: true },
    run: ({ headers, arguments: sent, meta, url }) =>
      text(JSON.stringify({ headers, arguments: sent, _meta: meta, url })),
  },
]

function disguise(authorization: string, form: unknown): string {
  const credential = authorization.replace(/^Bearer /, '')
  if (form === 'percent') return encodeURIComponent(credential)
  if (form === 'base64') return Buffer.from(credential).toString('base64')
  return credential
}
