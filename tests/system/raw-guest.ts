/** A guest that writes its requests itself, in either era: it can send what no official client would. */
export type Era = 'legacy' | 'modern'

export interface GuestAnswer {
  readonly status: number
  readonly headers: Headers
  /** As it came. */
  readonly text: string
  readonly result: Record<string, unknown> | undefined
  readonly error: { readonly code: number; readonly message: string } | undefined
}

/** The result of a call, as a model or a program reads it. */
export interface CallAnswer {
  readonly isError: boolean
  readonly text: string
  readonly structure: unknown
  /** What Sallyport says about a call that it refused or that failed. */
  readonly failure:
    | { readonly code: string; readonly field?: string; readonly executionId?: string | null }
    | undefined
}

export interface GuestOptions {
  readonly endpoint: string
  readonly token: string
  readonly era: Era
  /** Of a legacy session that was opened before. */
  readonly mcpSessionId?: string
  /** Closes the connections of its requests. */
  readonly left?: AbortSignal
}

const versions = { legacy: '2025-11-25', modern: '2026-07-28' } as const
let lastId = 0

export class RawGuest {
  readonly #options: GuestOptions

  constructor(options: GuestOptions) {
    this.#options = options
  }

  /** `params` is JSON text of an object without `_meta`. */
  async ask(method: string, params = '{}', meta: object = {}): Promise<GuestAnswer> {
    const { endpoint, era, left } = this.#options
    const answer = await fetch(endpoint, {
      method: 'POST',
      ...(left ? { signal: left } : {}),
      headers: this.#headers(method, params),
      body: `{"jsonrpc":"2.0","id":${++lastId},"method":${JSON.stringify(method)},"params":${withMeta(params, era, meta)}}`,
    })
    const text = await answer.text()
    const { result, error } = text === '' ? {} : JSON.parse(text)
    return { status: answer.status, headers: answer.headers, text, result, error }
  }

  /** `argumentsText` goes out as it is; `callId` as Claude Code sends its own. */
  async call(name: string, argumentsText = '{}', callId?: string): Promise<CallAnswer> {
    const params = `{"name":${JSON.stringify(name)},"arguments":${argumentsText}}`
    const { result, text } = await this.ask('tools/call', params, callIdMeta(callId))
    if (!result) throw new Error(`no result: ${text}`)
    return readCall(result)
  }

  #headers(method: string, params: string): Record<string, string> {
    const { token, era, mcpSessionId } = this.#options
    // No event stream is taken, so that every answer is one JSON body.
    return {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json',
      'mcp-protocol-version': versions[era],
      ...(mcpSessionId === undefined ? {} : { 'mcp-session-id': mcpSessionId }),
      ...(era === 'modern' ? { 'mcp-method': method, ...nameHeader(params) } : {}),
    }
  }
}

function readCall(result: Record<string, unknown>): CallAnswer {
  const blocks = result['content'] as { type: string; text?: string }[]
  const structure = result['structuredContent'] as { error?: CallAnswer['failure'] } | undefined
  return {
    isError: result['isError'] === true,
    text: blocks.map((block) => block.text ?? block.type).join('\n'),
    structure,
    failure: structure?.error,
  }
}

function nameHeader(params: string): Record<string, string> {
  const { name } = JSON.parse(params)
  return typeof name === 'string' ? { 'mcp-name': name } : {}
}

const callIdMeta = (callId: string | undefined): object =>
  callId === undefined ? {} : { 'claudecode/toolUseId': callId }

function withMeta(params: string, era: Era, more: object): string {
  const meta = era === 'legacy' ? more : { ...modernMeta, ...more }
  if (Object.keys(meta).length === 0) return params
  const rest = params === '{}' ? '' : `,${params.slice(1, -1)}`
  return `{"_meta":${JSON.stringify(meta)}${rest}}`
}

const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': versions.modern,
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
