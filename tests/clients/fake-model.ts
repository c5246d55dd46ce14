/**
 * A model provider without a model: Anthropic Messages, OpenAI Responses and Chat Completions, Gemini, on one loopback
 * port. It follows the script in the prompt, refuses what the real providers refuse, and keeps every request for the
 * test to look at.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json as readJson } from 'node:stream/consumers'
import { answerMessages, type MessagesRequest } from './fake-anthropic.ts'
import { answerGenerate, type GenerateRequest } from './fake-gemini.ts'
import { answerResponses, type ResponsesRequest } from './fake-openai.ts'
import { answerChat, type ChatRequest } from './fake-openai-chat.ts'
import type { Answer, Decision, Json } from './fake-script.ts'

export interface ModelRequest {
  readonly path: string
  readonly status: number
  readonly body: Json
  readonly decision: Decision | undefined
}

export interface FakeModel {
  /** Without a path; Anthropic and Gemini clients append their own, OpenAI clients get `${url}/v1`. */
  readonly url: string
  /** Every model request so far, the refused ones included. */
  readonly requests: readonly ModelRequest[]
  /** The results of the last finished script, as the model received them; undefined before a FINAL was said. */
  results(): unknown[] | undefined
  close(): Promise<void>
}

export async function startFakeModel(): Promise<FakeModel> {
  const requests: ModelRequest[] = []
  const newId = countingIds()
  const server = createServer((request, response) => {
    void handle(request, response, newId, requests).catch((error: unknown) => {
      response.writeHead(500).end(String(error))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    results: () => finalResults(requests),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function countingIds(): (prefix: string) => string {
  let count = 0
  return (prefix) => `${prefix}_${String(++count).padStart(8, '0')}`
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  newId: (prefix: string) => string,
  log: ModelRequest[],
): Promise<void> {
  const path = (request.url ?? '/').split('?')[0] as string
  if (request.method !== 'POST') return answerProbe(path, response)
  const body = (await readJson(request)) as Json
  if (path.endsWith('/count_tokens'))
    return send(response, { status: 200, json: { input_tokens: 10 } })
  if (path.endsWith(':countTokens'))
    return send(response, { status: 200, json: { totalTokens: 10 } })
  const answer = answerPost(path, body, newId)
  log.push({ path, status: answer.status, body, decision: answer.decision })
  send(response, answer)
}

function answerPost(path: string, body: Json, newId: (prefix: string) => string): Answer {
  if (path.endsWith('/messages')) return answerMessages(body as MessagesRequest, newId)
  if (path.endsWith('/responses')) return answerResponses(body as ResponsesRequest, newId)
  if (path.endsWith('/chat/completions')) return answerChat(body as ChatRequest, newId)
  const generate = /:(stream)?generateContent$/i.exec(path)
  if (generate) return answerGenerate(body as GenerateRequest, newId, generate[1] !== undefined)
  return { status: 404, json: { error: { type: 'not_found_error', message: path } } }
}

function answerProbe(path: string, response: ServerResponse): void {
  const models = [{ id: 'fake-model', object: 'model', type: 'model' }]
  if (path.endsWith('/models'))
    send(response, { status: 200, json: { object: 'list', data: models, models: [] } })
  else response.writeHead(path === '/' ? 200 : 404).end()
}

function send(response: ServerResponse, answer: Answer): void {
  if (!answer.events && !answer.chunks) {
    response.writeHead(answer.status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer.json))
    return
  }
  response.writeHead(answer.status, { 'content-type': 'text/event-stream' })
  for (const event of answer.events ?? [])
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  for (const chunk of answer.chunks ?? [])
    response.write(`data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`)
  response.end()
}

function finalResults(requests: readonly ModelRequest[]): unknown[] | undefined {
  const said = requests.findLast(
    ({ decision }) => decision?.kind === 'say' && decision.text.startsWith('FINAL '),
  )?.decision
  return said?.kind === 'say'
    ? (JSON.parse(said.text.slice('FINAL '.length)) as unknown[])
    : undefined
}
