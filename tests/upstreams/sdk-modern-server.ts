/** A small 2026-07-28 server built with the official SDK: what Sallyport must get on with as it is. */
import { randomInt } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'

export interface SdkServer {
  readonly url: string
  close(): Promise<void>
}

/** Tools: `greet {name}` answers in text, `add {by}` counts and answers in text and structure. With `bearer` it demands one. */
export async function startSdkServer(
  options: { readonly port?: number; readonly bearer?: string } = {},
): Promise<SdkServer> {
  const counter = { value: randomInt(1_000, 1_000_000) }
  const mcp = createMcpHandler(() => build(counter), { legacy: 'reject' })
  const serve = toNodeHandler(mcp)
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const { bearer } = options
    if (bearer !== undefined && request.headers.authorization !== `Bearer ${bearer}`)
      return void response.writeHead(401, { 'www-authenticate': 'Bearer' }).end()
    serve(request as Parameters<typeof serve>[0], response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    close: async () => {
      await mcp.close()
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

function build(counter: { value: number }): McpServer {
  const server = new McpServer({ name: 'sdk-modern', version: '1.0.0' })
  server.registerTool(
    'greet',
    {
      description: 'Greets somebody.',
      inputSchema: z.object({ name: z.string() }),
      annotations: { readOnlyHint: true },
    },
    ({ name }) => ({ content: [{ type: 'text', text: `Hello, ${name}.` }] }),
  )
  server.registerTool(
    'add',
    {
      description: 'Adds to a counter and says the total.',
      inputSchema: z.object({ by: z.int() }),
      outputSchema: z.object({ total: z.int() }),
    },
    ({ by }) => {
      counter.value += by
      return {
        content: [{ type: 'text', text: 'The total is in the structure.' }],
        structuredContent: { total: counter.value },
      }
    },
  )
  return server
}
