/**
 * The control listener: API, probes, metrics. Who asks is known before anything of a body is read; what is answered has
 * passed the route's schema, so that nothing unlisted gets out.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { type Authenticated, authenticate } from '@sallyport/core'
import {
  errors,
  openApiDocument,
  type Role,
  type RouteName,
  roles,
  SallyportError,
  toSallyportError,
} from '@sallyport/protocol'
import { isAllowedHost, isAllowedOrigin } from '../http/allowed-hosts.ts'
import type { ApiDeps } from './api-deps.ts'
import { type FoundRoute, findRoute } from './find-route.ts'
import { type Asked, createHandlers } from './handlers.ts'
import { serveOAuthPage } from './oauth-pages.ts'
import { serveProbe } from './probes.ts'
import { readBody, readQuery } from './read-input.ts'
import { tellingChange } from './tell-changes.ts'
import { writeError, writeJson } from './write-answer.ts'

const base = '/api/v1'

type AnyHandler = (asked: Asked<RouteName>) => Promise<unknown>

export function createControlApi(deps: ApiDeps): RequestListener {
  const handlers = handlersOf(deps)
  const document = openApiDocument()

  const serve = async (
    request: IncomingMessage,
    response: ServerResponse,
    noteRoute: (name: RouteName) => void,
  ): Promise<void> => {
    checkListener(request, deps)
    const { path, search } = splitTarget(request.url ?? '/')
    if (await serveProbe(path, request, response, deps)) return
    if (await serveOAuthPage({ path, search }, request, response, deps)) return
    if (path === `${base}/openapi.json` && request.method === 'GET')
      return writeJson(response, 200, document)
    if (!path.startsWith(`${base}/`)) throw new SallyportError('not_found')
    const caller = await authenticateCaller(request, deps)
    const found = findRoute(request.method ?? '', path.slice(base.length))
    if (!found) throw new SallyportError('not_found')
    if ('allow' in found) {
      response.setHeader('allow', found.allow.join(', '))
      throw new SallyportError('method_not_allowed')
    }
    noteRoute(found.name)
    const asked = await readAsked(request, search, found, caller)
    const change = { ...asked, name: found.name }
    await deps.caughtUp()
    const answer = await tellingChange(deps, change, (told) => {
      const own = told === deps ? handlers : handlersOf(told)
      return own[found.name](asked)
    })
    writeJson(response, 200, found.route.answer.parse(answer))
  }

  return (request, response) => {
    const started = performance.now()
    let route: RouteName | 'none' = 'none'
    serve(request, response, (name) => {
      route = name
    })
      .catch((thrown: unknown) => answerError(response, thrown, route, deps))
      .finally(() => {
        const seconds = (performance.now() - started) / 1000
        deps.metrics.apiRequest(route, response.statusCode, seconds)
        deps.log.info({ route, status: response.statusCode, seconds }, 'api')
      })
  }
}

function handlersOf(deps: ApiDeps): Record<RouteName, AnyHandler> {
  return createHandlers(deps) as unknown as Record<RouteName, AnyHandler>
}

/** Against pages of a rebound name. */
function checkListener({ headers }: IncomingMessage, deps: ApiDeps): void {
  const listener = deps.listener()
  if (!isAllowedHost(headers.host, listener) || !isAllowedOrigin(headers.origin, listener))
    throw new SallyportError('not_allowed')
}

function splitTarget(target: string): { path: string; search: URLSearchParams } {
  const at = target.indexOf('?')
  return {
    path: at < 0 ? target : target.slice(0, at),
    search: new URLSearchParams(at < 0 ? '' : target.slice(at + 1)),
  }
}

async function authenticateCaller(
  { headers }: IncomingMessage,
  { store, now }: ApiDeps,
): Promise<Authenticated> {
  const secret = /^Bearer ([\w-]{1,200})$/i.exec(headers.authorization ?? '')?.[1]
  const caller = secret === undefined ? undefined : await authenticate(store, secret, now())
  if (!caller) throw new SallyportError('not_authenticated')
  return caller
}

async function readAsked(
  request: IncomingMessage,
  search: URLSearchParams,
  { route, params }: FoundRoute,
  { actor, user }: Authenticated,
): Promise<Asked<RouteName>> {
  if (!hasRole(actor.role, route.role)) throw new SallyportError('not_allowed')
  const query = readQuery(route, search)
  const body = await readBody(route, request)
  return { actor, user, params, query, body } as Asked<RouteName>
}

/** `roles` begins with the one that may most. */
function hasRole(role: Role, least: Role): boolean {
  return roles.indexOf(role) <= roles.indexOf(least)
}

function answerError(
  response: ServerResponse,
  thrown: unknown,
  route: RouteName | 'none',
  { log }: ApiDeps,
): void {
  // Whoever leaves in the middle of a request is owed no answer, and it is no failure of ours.
  if (response.req.destroyed && !response.req.complete) {
    response.statusCode = errors.call_cancelled.http
    return
  }
  const error = toSallyportError(thrown)
  if (errors[error.code].who === 'operator' && errors[error.code].http === 500)
    log.error({ route, code: error.code, err: error.cause ?? error }, 'api failed')
  if (response.headersSent) response.destroy()
  else writeError(response, error)
}
