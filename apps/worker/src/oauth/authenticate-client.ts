/** How a client says at a token endpoint who it is. */
import { createPrivateKey, type KeyObject, randomUUID } from 'node:crypto'
import { SallyportError } from '@sallyport/protocol'
import type { OAuthClient } from '@sallyport/protocol/node'
import { defined } from './defined.ts'

export interface ClientWords {
  readonly headers: Readonly<Record<string, string>>
  readonly form: Readonly<Record<string, string>>
}

const assertionSeconds = 60
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** `now`: milliseconds since 1970. Rejects with `bad_secret` for a key that cannot sign. */
export async function authenticateClient(
  client: OAuthClient,
  issuer: string,
  now: number,
): Promise<ClientWords> {
  const { clientId, clientSecret = '' } = client
  switch (client.authMethod) {
    case 'none':
      return { headers: {}, form: { client_id: clientId } }
    case 'client_secret_post':
      return { headers: {}, form: { client_id: clientId, client_secret: clientSecret } }
    case 'client_secret_basic': {
      const pair = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`
      return {
        headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` },
        form: {},
      }
    }
    case 'private_key_jwt': {
      const assertion = await signAssertion(client, issuer, now)
      const form = { client_assertion_type: assertionType, client_assertion: assertion }
      return { headers: {}, form: { client_id: clientId, ...form } }
    }
  }
}

/** The audience is the issuer alone: an assertion for one server says nothing to another (RFC 7523bis). */
async function signAssertion(client: OAuthClient, issuer: string, now: number): Promise<string> {
  const { SignJWT } = await import('jose')
  const { clientId, privateKeyPem = '', keyId } = client
  const seconds = Math.floor(now / 1_000)
  try {
    const key = createPrivateKey(privateKeyPem)
    return await new SignJWT({ jti: randomUUID() })
      .setProtectedHeader({ alg: algorithmOf(key), ...defined({ kid: keyId }) })
      .setIssuer(clientId)
      .setSubject(clientId)
      .setAudience(issuer)
      .setIssuedAt(seconds)
      .setExpirationTime(seconds + assertionSeconds)
      .sign(key)
  } catch (cause) {
    throw new SallyportError('bad_secret', { field: 'privateKeyPem', cause })
  }
}

function algorithmOf(key: KeyObject): string {
  const curves: Record<string, string> = { prime256v1: 'ES256', secp384r1: 'ES384' }
  if (key.asymmetricKeyType === 'ed25519') return 'EdDSA'
  if (key.asymmetricKeyType === 'rsa') return 'RS256'
  return curves[key.asymmetricKeyDetails?.namedCurve ?? ''] ?? 'none'
}

/** RFC 6749 2.3.1: both are encoded as in a form before they are joined. */
function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}
