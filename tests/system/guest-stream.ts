/** A guest's stream for changes, in either era, with every message that came on it. */
import { eventually } from './eventually.ts'
import type { Era } from './raw-guest.ts'

export interface StreamPlace {
  readonly endpoint: string
  readonly token: string
  readonly era: Era
}

interface Message {
  readonly method?: string
  readonly result?: unknown
}

export class GuestStream {
  readonly messages: Message[] = []
  isEnded = false
  readonly #stop: AbortController

  constructor(answer: Response, stop: AbortController) {
    this.#stop = stop
    this.#read(answer).catch(() => {
      this.isEnded = true
    })
  }

  /** How often it was told that the tools have changed. */
  get changes(): number {
    return this.messages.filter(({ method }) => method === 'notifications/tools/list_changed')
      .length
  }

  /** Resolves once it was told that often. */
  async told(times: number, ms = 3_000): Promise<void> {
    await eventually(
      () => this.changes,
      (changes) => changes >= times,
      ms,
    )
  }

  async ended(ms = 3_000): Promise<void> {
    await eventually(() => this.isEnded, Boolean, ms)
  }

  close(): void {
    this.#stop.abort()
  }

  async #read(answer: Response): Promise<void> {
    let rest = ''
    const decoder = new TextDecoder()
    for await (const chunk of answer.body ?? []) {
      const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const data = block.split('\n').find((line) => line.startsWith('data: '))
        if (data) this.messages.push(JSON.parse(data.slice(6)))
      }
    }
    this.isEnded = true
  }
}

/** Resolves when the stream is open: in 2026-07-28, acknowledged. */
export async function openStream(place: StreamPlace): Promise<GuestStream> {
  const stop = new AbortController()
  const answer = await fetch(place.endpoint, { ...request(place), signal: stop.signal })
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`)
  const stream = new GuestStream(answer, stop)
  if (place.era === 'modern')
    await eventually(
      () => stream.messages.length,
      (count) => count > 0,
    )
  return stream
}

function request({ token, era }: StreamPlace): RequestInit {
  const authorization = `Bearer ${token}`
  if (era === 'legacy') return { headers: { authorization, accept: 'text/event-stream' } }
  return {
    method: 'POST',
    headers: {
      authorization,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'stream', method: 'subscriptions/listen', params }),
  }
}

const params = {
  notifications: { toolsListChanged: true },
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  },
}
