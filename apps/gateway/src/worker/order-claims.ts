/** What every order outside the call path has in common. */
import type { Credential, Order } from '@sallyport/core'
import { canonicalJson, type IdSource, type IntentId, SallyportError } from '@sallyport/protocol'
import { type AnyIntent, digestBytes, type Intent, maxStartWithin } from '@sallyport/protocol/node'

export interface OrderClaimsDeps {
  readonly link: { instance(): string | undefined }
  readonly ids: IdSource
  /** Milliseconds since 1970. */
  readonly now: () => number
}

type OrderClaims = Pick<AnyIntent, 'v' | 'id' | 'iat' | 'exp' | 'startWithin' | 'aud'>

/** Throws `worker_down`. */
export function orderClaims({ link, ids, now }: OrderClaimsDeps): OrderClaims {
  const aud = link.instance()
  if (aud === undefined) throw new SallyportError('worker_down')
  return claimsOf(ids('intent'), aud, now())
}

export function claimsOf(id: IntentId, aud: string, iat: number): OrderClaims {
  return { v: 1, id, iat, exp: iat + maxStartWithin, startWithin: maxStartWithin, aud }
}

export function orderOf(
  intent: AnyIntent,
  endpointSeal: string | undefined,
  credentialSeal: string | undefined,
  argumentsText: string,
): Order {
  const id = intent.id as IntentId
  const text = canonicalJson(intent)
  return { id, text, digest: digestBytes(text), endpointSeal, credentialSeal, argumentsText }
}

export function credentialClaims({
  id,
  version,
  seal,
  clear,
}: Credential): Pick<
  Intent,
  'credentialId' | 'credentialVersion' | 'credentialDigest' | 'credentialClear'
> {
  const { bearer, headerNames, oauth } = clear
  return {
    credentialId: id,
    credentialVersion: version,
    credentialDigest: digestBytes(seal),
    credentialClear: { bearer, headerNames: [...headerNames], ...(oauth ? { oauth } : {}) },
  }
}
