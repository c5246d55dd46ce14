/** What is typed about OAuth when a connection is added, and the file with a client. */
import type { RequestBody } from '@sallyport/protocol'
import {
  type OAuthClientToSeal,
  sealOAuthClient,
  tokenAuthMethods,
  type VaultPublicKey,
} from '@sallyport/protocol/node'
import type { Command } from 'commander'
import { failure, usageFailure } from '../failure.ts'
import type { Run } from '../run.ts'
import { collect } from '../verb.ts'

export interface OAuthOptions {
  readonly oauth?: true
  readonly clientCredentials?: true
  readonly clientFile?: string
  readonly scopeWanted?: string[]
}

export function addOAuthOptions(command: Command): Command {
  return command
    .option('--oauth', 'somebody signs in at its authorization server')
    .option('--client-credentials', 'its authorization server gives tokens to a client alone')
    .option('--client-file <f>', 'file with the client that was registered there, as JSON')
    .option('--scope-wanted <s>', 'scope to ask for, beside those it names (repeatable)', collect)
}

export const usesOAuth = ({ oauth, clientCredentials }: OAuthOptions): boolean =>
  oauth === true || clientCredentials === true

/** Throws `usage` for a mixture. */
export function checkOAuthOptions(options: OAuthOptions, givesSecret: boolean, help: string): void {
  const { oauth, clientCredentials, clientFile, scopeWanted } = options
  if (!usesOAuth(options)) {
    if (clientFile !== undefined || scopeWanted !== undefined)
      throw usageFailure('--client-file and --scope-wanted go with --oauth', help)
    return
  }
  if (oauth && clientCredentials)
    throw usageFailure('--oauth and --client-credentials exclude each other', help)
  if (givesSecret) throw usageFailure('with OAuth there is no bearer and no header', help)
  if (clientCredentials && clientFile === undefined)
    throw usageFailure('--client-credentials takes --client-file F', help)
}

/** Names as the registration of a client has them (RFC 7591), and the issuer it is for. */
const members = {
  client_id: 'clientId',
  client_secret: 'clientSecret',
  private_key_pem: 'privateKeyPem',
  key_id: 'keyId',
  token_endpoint_auth_method: 'authMethod',
} as const

interface Place {
  readonly url: string
  readonly scope: string
  readonly key: VaultPublicKey
  readonly localAllowed: boolean
}

/** Undefined without OAuth. Throws `bad_secret` for a file that holds no client. */
export async function sealedAuthentication(
  run: Run,
  options: OAuthOptions,
  place: Place,
): Promise<RequestBody<'connection.create'>['authentication']> {
  if (!usesOAuth(options)) return undefined
  const { clientFile, clientCredentials, scopeWanted = [] } = options
  const client = clientFile === undefined ? undefined : await sealClient(run, clientFile, place)
  if (!clientCredentials) return { method: 'oauth', scopeWanted, ...(client ? { client } : {}) }
  if (!client) throw failure('bad_secret', { field: '--client-file' })
  return { method: 'client_credentials', scopeWanted, client }
}

export async function sealClient(run: Run, path: string, { url, ...place }: Place) {
  const { issuer, ...client } = readClient(await run.readSecret(path, '--client-file'))
  const { id, seal } = sealOAuthClient({
    client,
    ...(issuer === undefined ? {} : { issuer }),
    ...{ urls: [url], id: run.newId('oauthClient'), version: 1 },
    ...place,
  })
  return { id, seal, ...(issuer === undefined ? {} : { issuer }) }
}

/** What else the answer of a registration holds is left out. Of what is wrong with it nothing is quoted. */
function readClient(text: string): OAuthClientToSeal['client'] & { readonly issuer?: string } {
  const given = parsed(text)
  const named = { ...members, issuer: 'issuer' } as const
  const client: Record<string, string> = {}
  for (const [member, field] of Object.entries(named)) {
    const value = given[member]
    if (value === undefined) continue
    if (typeof value !== 'string') throw failure('bad_secret', { field: '--client-file' })
    client[field] = value
  }
  const { authMethod, clientId } = client
  const isMethod = tokenAuthMethods.some((method) => method === authMethod)
  if (clientId === undefined || (authMethod !== undefined && !isMethod))
    throw failure('bad_secret', { field: '--client-file' })
  return client as unknown as OAuthClientToSeal['client']
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (value !== null && typeof value === 'object') return value as Record<string, unknown>
  } catch {
    // Told below, without the text.
  }
  throw failure('bad_secret', { field: '--client-file' })
}
