/** Servers that fail while they are connected and listed, and say everything they were told while they do. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  defaultTools,
  type Fault,
  startUpstream,
  type Upstream,
} from '../upstreams/scripted-upstream.ts'
import type { Era } from './raw-guest.ts'
import { basicOf, createSentinels, pathOf, type Sentinels, tell } from './sentinels.ts'

/** How a connection shows who it is; `X-Api-Key` comes with both. */
export type Auth = 'bearer' | 'login'

export interface Server {
  readonly url: string
  close(): Promise<unknown>
}

/** Demands everything that belongs to the connection. */
export function serve(auth: Auth, has: Sentinels, era: Era = 'modern'): Promise<Upstream> {
  const login = auth === 'login' ? { authorization: basicOf(has) } : {}
  return startUpstream({
    era,
    path: pathOf(has),
    tools: [...defaultTools, tell],
    headers: { 'x-api-key': has.header, ...login },
    ...(auth === 'bearer' ? { bearer: has.bearer } : {}),
  })
}

/** Everything a server was told, as text that it may say again. */
const all = (has: Sentinels) => Object.values(has).join(' ')

const here = (port: number, has: Sentinels) => `http://127.0.0.1:${port}${pathOf(has)}`

/** Ways in which a call fails, each with everything in it. */
export function faultsOf(has: Sentinels): Fault[] {
  const body = `{"error":${JSON.stringify(all(has))}}`
  const headers = { 'www-authenticate': `Bearer realm="${has.bearer}"`, 'x-said': has.path }
  const statuses = [400, 401, 403, 404, 429, 500, 503]
  const said = JSON.stringify(all(has))
  const answer = (id: string, rest: string) => `{"jsonrpc":"2.0","id":${id},${rest}`
  return [
    ...statuses.map((status) => ({ kind: 'status', status, headers, body }) as const),
    { kind: 'redirect', to: `http://127.0.0.1:1/${has.path}?${has.query}` },
    { kind: 'cut' },
    { kind: 'cut', midway: true },
    { kind: 'wrong_id' },
    { kind: 'compressed' },
    { kind: 'raw', body: () => all(has) },
    { kind: 'raw', contentType: 'text/html', body: () => `<h1>${all(has)}</h1>` },
    { kind: 'raw', body: (id) => answer(id, `"result":${said}}`) },
    { kind: 'raw', body: (id) => answer(id, `"result":{"content":[{"text":${said}`) },
  ]
}

type Start = (has: Sentinels, auth: Auth) => Promise<Server>

/** By name: the code that discovery ends with, and the server. */
export const failingServers: Readonly<Record<string, readonly [code: string, start: Start]>> = {
  'wrong-url': ['upstream_http_4xx', startElsewhere],
  'wrong-secret': ['upstream_http_401', startForOthers],
  'says-401': ['upstream_http_401', answering(401)],
  'says-403': ['upstream_http_403', answering(403)],
  'says-500': ['upstream_http_5xx', answering(500)],
  'says-302': ['upstream_not_mcp', answering(302)],
  gone: ['upstream_unreachable', startAndClose],
  'no-mcp': ['upstream_not_mcp', startPage],
  'tool-of-it': ['credential_in_result', startWithTool],
  'named-it': ['credential_in_result', startNamed],
}

/** The right server under another path. */
async function startElsewhere(has: Sentinels, auth: Auth): Promise<Server> {
  const { path, query } = createSentinels()
  const upstream = await serve(auth, { ...has, path, query })
  return { url: here(upstream.port, has), close: () => upstream.close() }
}

function startForOthers({ path, query }: Sentinels, auth: Auth): Promise<Server> {
  return serve(auth, { ...createSentinels(), path, query })
}

function answering(status: number): Start {
  return async (has, auth) => {
    const upstream = await serve(auth, has)
    const headers = { location: `http://127.0.0.1:1/${has.path}`, 'x-said': has.path }
    upstream.misbehave({ kind: 'status', status, body: all(has), headers })
    return upstream
  }
}

async function startAndClose(has: Sentinels, auth: Auth): Promise<Server> {
  const upstream = await serve(auth, has)
  const { url } = upstream
  await upstream.close()
  return { url, close: async () => {} }
}

/** Whatever it is asked, a page with everything it was told. */
async function startPage(has: Sentinels): Promise<Server> {
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.end(JSON.stringify([request.url, request.headers]))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: here((server.address() as AddressInfo).port, has),
    close: () => new Promise((resolve) => server.close(resolve).closeAllConnections()),
  }
}

async function startWithTool(has: Sentinels, auth: Auth): Promise<Server> {
  const upstream = await serve(auth, has)
  upstream.setTools([{ name: 'tool', description: `Use ${has.header}.` }])
  return upstream
}

/** Its name is what it was told. */
async function startNamed(has: Sentinels, auth: Auth): Promise<Server> {
  const upstream = await serve(auth, has, 'legacy')
  const named = (result: string) => result.replace('"scripted"', JSON.stringify(all(has)))
  upstream.misbehave(
    {
      kind: 'raw',
      body: (id, result) => `{"jsonrpc":"2.0","id":${id},"result":${named(result)}}`,
    },
    { method: 'initialize' },
  )
  return upstream
}
