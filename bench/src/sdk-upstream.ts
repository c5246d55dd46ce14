/** The same tools on the official SDK, as its documentation serves HTTP. */
import { createServer } from 'node:http'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { announce } from './announce.ts'
import { echo, echoTools } from './echo-tools.ts'

const inputSchema = z.object({
  nonce: z.string(),
  text: z.string().exactOptional(),
  items: z.array(z.unknown()).exactOptional(),
})

function build(): McpServer {
  const server = new McpServer({ name: 'sdk', version: '1.0.0' })
  for (const name of echoTools) {
    const readOnlyHint = name === 'echo'
    server.registerTool(name, { inputSchema, annotations: { readOnlyHint } }, (args) => echo(args))
  }
  return server
}

const serve = toNodeHandler(createMcpHandler(build))
const server = createServer((request, response) => {
  serve(request as Parameters<typeof serve>[0], response).catch(() => response.destroy())
})
announce(server)
