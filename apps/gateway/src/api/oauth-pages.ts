/**
 * The two addresses that need no token: where a browser comes back to from an authorization server, and what such a server
 * reads of us. Of what came nothing is shown: the text of a page is ours, whatever the address says.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type BroughtBack, finishSignIn, type OAuthDeps } from '@sallyport/core'
import { type ErrorCode, errors, SallyportError } from '@sallyport/protocol'
import { writeJson, writeText } from './write-answer.ts'

export const callbackPath = '/oauth/callback'
const metadataPath = '/oauth/client.json'

export interface OAuthPagesDeps extends OAuthDeps {
  /** Where browsers and servers reach the control listener, without a path. */
  publicUrl(): string
  readonly worker: { release(connectionId: string): void }
}

/** Of a gateway with a public https address. */
export function clientMetadataUrl(publicUrl: string): string | undefined {
  return publicUrl.startsWith('https:') ? `${publicUrl}${metadataPath}` : undefined
}

/** False when the path is neither of them. */
export async function serveOAuthPage(
  { path, search }: { readonly path: string; readonly search: URLSearchParams },
  request: IncomingMessage,
  response: ServerResponse,
  deps: OAuthPagesDeps,
): Promise<boolean> {
  if (path !== callbackPath && path !== metadataPath) return false
  if (request.method !== 'GET') throw new SallyportError('method_not_allowed')
  if (path === callbackPath) await serveCallback(search, response, deps)
  else serveMetadata(response, deps.publicUrl())
  return true
}

function serveMetadata(response: ServerResponse, publicUrl: string): void {
  const clientId = clientMetadataUrl(publicUrl)
  if (clientId === undefined) throw new SallyportError('not_found')
  writeJson(response, 200, {
    client_id: clientId,
    client_name: 'Sallyport',
    redirect_uris: [`${publicUrl}${callbackPath}`],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'web',
  })
}

async function serveCallback(
  search: URLSearchParams,
  response: ServerResponse,
  deps: OAuthPagesDeps,
): Promise<void> {
  const brought = broughtBack(search)
  const flow = brought && (await finishSignIn(deps, brought))
  if (!flow || isStranger(flow.code))
    return page(response, 400, 'This sign-in is over, or was never begun.', again)
  if (flow.state !== 'done') {
    const said = flow.code === null ? errors.internal.text : errors[flow.code].text
    return page(response, 400, 'The sign-in did not succeed.', said)
  }
  deps.worker.release(flow.connectionId)
  return page(response, 200, 'The connection is signed in.', 'You can close this page.')
}

/** A code of another sign-in came with this state. Whoever brings that is told no more than with no state at all. */
function isStranger(code: ErrorCode | null): boolean {
  return code === 'oauth_invalid_grant' || code === 'oauth_flow_over'
}

const again = 'Begin again with "sallyport connection authorize".'
const limits = { state: 256, code: 4_096, error: 256, iss: 2_048 } as const

/** Undefined for what no authorization server of ours has sent: parameters given twice, or longer than any. */
function broughtBack(search: URLSearchParams): BroughtBack | undefined {
  const given: { -readonly [K in keyof typeof limits]?: string } = {}
  for (const name of Object.keys(limits) as (keyof typeof limits)[]) {
    const [value, ...more] = search.getAll(name)
    if (more.length > 0 || (value ?? '').length > limits[name]) return undefined
    if (value !== undefined && value !== '') given[name] = value
  }
  const { state, ...rest } = given
  return state === undefined ? undefined : { state, ...rest }
}

function page(response: ServerResponse, status: number, title: string, text: string): void {
  const html = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Sallyport</title>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(text)}</p>
</html>
`
  writeText(response, status, 'text/html; charset=utf-8', html)
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
