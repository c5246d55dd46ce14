/**
 * Stands between a client and a server and passes everything on as it comes, so that what the client does with its call
 * is seen where it happens: what a server tells of its callers leaves out those who came twice for one call.
 */
import { request as ask, createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { z } from 'zod'

export interface OnTheWire {
  /** Calls of the write with that id that the client sent. */
  readonly calls: number
  /** The client closed the connection of one of them before its answer was whole. */
  readonly left: boolean
  /** One of them was answered whole. */
  readonly answered: boolean
}

export interface Tap {
  /** Where a client finds what is at that address. */
  through(endpoint: string): string
  seen(id: string): OnTheWire
  close(): Promise<void>
}

const nothing: OnTheWire = { calls: 0, left: false, answered: false }
const storeCall = z.object({
  method: z.literal('tools/call'),
  params: z.object({ name: z.literal('store'), arguments: z.object({ id: z.string() }) }),
})

/** Of the server at that address, whatever the path. */
export async function startTap(target: string): Promise<Tap> {
  const seen = new Map<string, OnTheWire>()
  const of = (id: string) => seen.get(id) ?? nothing
  const note = (id: string | undefined, change: Partial<OnTheWire>): void => {
    if (id !== undefined) seen.set(id, { ...of(id), ...change })
  }
  const pass = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const body = await buffer(incoming)
    const id = idOf(body)
    if (id !== undefined) note(id, { calls: of(id).calls + 1 })
    outgoing.once('close', () =>
      note(id, outgoing.writableFinished ? { answered: true } : { left: true }),
    )
    forward(new URL(incoming.url ?? '/', target), incoming, body, outgoing)
  }
  const server = createServer((incoming, outgoing) => {
    // A client that leaves in the middle of its request is no concern of the trial's.
    pass(incoming, outgoing).catch(() => outgoing.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    through: (endpoint) => `http://127.0.0.1:${port}${new URL(endpoint).pathname}`,
    seen: of,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The server is asked under its own name; when either end goes, the other is told. */
function forward(
  url: URL,
  { method, headers }: IncomingMessage,
  body: Buffer,
  outgoing: ServerResponse,
): void {
  const own = { ...headers, host: url.host }
  const asked = ask(url, { method: method ?? 'GET', headers: own, agent: false }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
    outgoing.flushHeaders()
    answer.pipe(outgoing)
    answer.once('error', () => outgoing.destroy())
  })
  asked.once('error', () => outgoing.destroy())
  outgoing.once('close', () => asked.destroy())
  asked.end(body)
}

function idOf(body: Buffer): string | undefined {
  if (body.length === 0) return undefined
  try {
    return storeCall.safeParse(JSON.parse(body.toString())).data?.params.arguments.id
  } catch {
    // Not JSON: no call.
    return undefined
  }
}
