/**
 * The upstream that everything is measured against: MCP written by hand on node:http, the least that a Node server can
 * cost. Also stands behind Sallyport.
 */
import { createServer, type ServerResponse } from 'node:http'
import { announce } from './announce.ts'
import { type EchoArguments, echo, echoSchema, echoTools } from './echo-tools.ts'

interface Message {
  readonly id?: string | number
  readonly method: string
  readonly params?: {
    readonly arguments: EchoArguments
    readonly protocolVersion?: string
    readonly _meta?: Record<string, unknown>
  }
}

const serverInfo = { name: 'raw', version: '1.0.0' }
const capabilities = { tools: {} }
const cache = { ttlMs: 60_000, cacheScope: 'private' }
const tools = echoTools.map((name) => ({
  name,
  description: 'Answers with what it was given.',
  inputSchema: echoSchema,
  annotations: { readOnlyHint: name === 'echo' },
}))

function resultOf({ method, params }: Message): object | undefined {
  const isModern = params?._meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined
  const kind = isModern ? { resultType: 'complete' } : {}
  switch (method) {
    case 'tools/call':
      return { ...kind, ...echo(params?.arguments ?? { nonce: '' }) }
    case 'tools/list':
      return isModern ? { ...kind, tools, ...cache } : { tools }
    case 'server/discover':
      return { ...kind, supportedVersions: ['2026-07-28'], capabilities, serverInfo, ...cache }
    case 'initialize':
      return { protocolVersion: params?.protocolVersion, capabilities, serverInfo }
    case 'ping':
      return {}
    default:
      return undefined
  }
}

function answer(response: ServerResponse, message: Message): void {
  if (message.id === undefined) {
    response.writeHead(202, { 'content-length': 0 }).end()
    return
  }
  const result = resultOf(message)
  const outcome = result ? { result } : { error: { code: -32601, message: 'method not found' } }
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...outcome }))
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
  response.end(body)
}

const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
  if (request.method !== 'POST') {
    response.writeHead(405, { allow: 'POST', 'content-length': 0 }).end()
    return
  }
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => answer(response, JSON.parse(Buffer.concat(chunks).toString())))
})
announce(server)
