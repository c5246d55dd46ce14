/** Codes and tokens of the scripted authorization server. */
import { createHash, createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { jwtVerify, SignJWT } from 'jose'
import type { ScriptedAuthorizationServer, ServerRequest } from './scripted-authorization-server.ts'

interface Issued {
  readonly clientId: string
  readonly scope: string | undefined
  readonly resource: string
}

interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
}

const refuse = (error: string, status = 400): Answer => ({ status, body: { error } })
const random = () => randomBytes(16).toString('hex')

export class Grants {
  readonly #server: ScriptedAuthorizationServer
  readonly #signer: KeyObject
  readonly #codes = new Map<string, URLSearchParams>()
  readonly #accessTokens = new Map<string, Issued>()
  readonly #refreshTokens = new Map<string, Issued>()

  /** Every token that was ever given. */
  readonly issued: string[] = []

  constructor(server: ScriptedAuthorizationServer, signer: KeyObject) {
    this.#server = server
    this.#signer = signer
  }

  authorize(query: URLSearchParams): string {
    const code = `code-${random()}`
    this.#codes.set(code, query)
    return code
  }

  accepts(token: string | undefined, resource: string): boolean {
    return this.#accessTokens.get(token ?? '')?.resource === resource
  }

  isIssued(token: string | undefined): boolean {
    return this.#accessTokens.has(token ?? '')
  }

  scopeOf(token: string | undefined): string | undefined {
    return this.#accessTokens.get(token ?? '')?.scope
  }

  /** Every token is void, and no refresh token opens another. */
  revokeAll(): void {
    this.#accessTokens.clear()
    this.#refreshTokens.clear()
  }

  #revokeOf(clientId: string): void {
    for (const tokens of [this.#accessTokens, this.#refreshTokens])
      for (const [token, issued] of tokens) if (issued.clientId === clientId) tokens.delete(token)
  }

  /** RFC 7009 2.2: also of a token that it does not know. */
  async revoke(request: ServerRequest): Promise<Answer> {
    if ((await this.#clientOf(request)) === undefined) return refuse('invalid_client', 401)
    const token = request.form.get('token') ?? ''
    for (const tokens of [this.#accessTokens, this.#refreshTokens]) {
      const { revokesAll } = this.#server.switches
      const clientId = revokesAll ? tokens.get(token)?.clientId : undefined
      tokens.delete(token)
      if (clientId !== undefined) this.#revokeOf(clientId)
    }
    return { status: 200, body: {} }
  }

  /** Neither an access token nor a refresh token of ours is good for anything any more. */
  get isEmpty(): boolean {
    return this.#accessTokens.size + this.#refreshTokens.size === 0
  }

  async token(request: ServerRequest): Promise<Answer> {
    const clientId = await this.#clientOf(request)
    if (clientId === undefined) return refuse('invalid_client', 401)
    const { form } = request
    switch (form.get('grant_type')) {
      case 'authorization_code':
        return await this.#redeem(form, clientId)
      case 'refresh_token':
        return await this.#refresh(form, clientId)
      case 'client_credentials':
        return await this.#issue(
          { clientId, scope: form.get('scope') ?? undefined, resource: form.get('resource') ?? '' },
          false,
        )
      default:
        return refuse('unsupported_grant_type')
    }
  }

  async #redeem(form: URLSearchParams, clientId: string): Promise<Answer> {
    const code = form.get('code') ?? ''
    const query = this.#codes.get(code)
    this.#codes.delete(code)
    const verifier = form.get('code_verifier') ?? ''
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const isSame =
      query?.get('client_id') === clientId &&
      query.get('redirect_uri') === form.get('redirect_uri') &&
      query.get('code_challenge') === challenge &&
      query.get('code_challenge_method') === 'S256' &&
      query.get('resource') === form.get('resource')
    if (!query || !isSame) return refuse('invalid_grant')
    const resource = form.get('resource') ?? ''
    return await this.#issue({ clientId, scope: query.get('scope') ?? undefined, resource }, true)
  }

  async #refresh(form: URLSearchParams, clientId: string): Promise<Answer> {
    const token = form.get('refresh_token') ?? ''
    const issued = this.#refreshTokens.get(token)
    const isOurs = issued?.clientId === clientId && issued.resource === form.get('resource')
    if (!issued || !isOurs) return refuse('invalid_grant')
    const { rotates } = this.#server.switches
    if (rotates) this.#refreshTokens.delete(token)
    return await this.#issue(issued, rotates)
  }

  async #issue(issued: Issued, isRefreshable: boolean): Promise<Answer> {
    const { switches } = this.#server
    const { giveScope, expiresIn, givesRefreshToken, tells, account } = switches
    const accessToken = `at-${random()}`
    const scope = giveScope(issued.scope)
    this.#accessTokens.set(accessToken, { ...issued, scope })
    const refreshToken = isRefreshable && givesRefreshToken ? `rt-${random()}` : undefined
    this.issued.push(accessToken, ...(refreshToken ? [refreshToken] : []))
    if (refreshToken) this.#refreshTokens.set(refreshToken, issued)
    const body = switches.alterTokens({
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: expiresIn,
      refresh_token: refreshToken,
      scope,
      ...(tells === 'id_token' ? { id_token: await this.signIdToken(issued.clientId) } : {}),
      ...(tells === 'members' ? account : {}),
    })
    return { status: 200, body }
  }

  /** `claims` replace the good ones. */
  async signIdToken(
    audience: string,
    claims: Record<string, unknown> = {},
    key = this.#signer,
  ): Promise<string> {
    const now = Math.floor(Date.now() / 1_000)
    const { issuer, switches } = this.#server
    const good = { iss: issuer, aud: audience, iat: now, exp: now + 300, ...switches.account }
    return await new SignJWT({ ...good, ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
      .sign(key)
  }

  /** Undefined when it does not prove who it is. */
  async #clientOf({ headers, form }: ServerRequest): Promise<string | undefined> {
    const { clients, switches } = this.#server
    const [id, secret] = this.#pairOf(headers.authorization) ?? [
      form.get('client_id') ?? '',
      form.get('client_secret') ?? undefined,
    ]
    const client = clients.get(id)
    if (!client) return switches.takesMetadataDocuments && id.startsWith('https:') ? id : undefined
    if (client.publicKeyPem !== undefined)
      return (await this.#isAsserted(id, client.publicKeyPem, form)) ? id : undefined
    return client.secret === undefined || client.secret === secret ? id : undefined
  }

  #pairOf(authorization: string | undefined): [string, string] | undefined {
    const basic = /^Basic (.+)$/.exec(authorization ?? '')?.[1]
    if (basic === undefined) return undefined
    const parts = Buffer.from(basic, 'base64').toString().split(':')
    const [id = '', secret = ''] = parts.map((part) =>
      decodeURIComponent(part.replaceAll('+', ' ')),
    )
    return [id, secret]
  }

  async #isAsserted(id: string, publicKeyPem: string, form: URLSearchParams): Promise<boolean> {
    const { issuer } = this.#server
    const assertion = form.get('client_assertion') ?? ''
    const options = { issuer: id, subject: id, audience: issuer, requiredClaims: ['jti', 'exp'] }
    const verified = jwtVerify(assertion, createPublicKey(publicKeyPem), options)
    return await verified.then(
      () => true,
      () => false,
    )
  }
}
