import { type AnyIntent, digestBytes, type SealBook } from '@sallyport/protocol/node'

/** A seal and its digest, made here. */
export interface CarriedSeal {
  readonly digest: string
  readonly seal: string
}

/**
 * The seal that a body brings, which is remembered, or else the one that crossed the connection before under the digest
 * that the intent names. Undefined when there is neither.
 */
export function carriedSeal(
  book: SealBook,
  brought: unknown,
  named: string | undefined,
): CarriedSeal | undefined {
  if (typeof brought === 'string') {
    const digest = digestBytes(brought)
    book.add(digest, brought)
    return { digest, seal: brought }
  }
  const seal = named === undefined || brought !== undefined ? undefined : book.get(named)
  return named === undefined || seal === undefined ? undefined : { digest: named, seal }
}

/** Of the seal of its endpoint; orders about the vault go to no endpoint. */
export function endpointDigestOf(intent: AnyIntent): string | undefined {
  return 'endpointDigest' in intent ? intent.endpointDigest : undefined
}

/** Of the credential it names, if it names one: a webhook holds what it shows in the seal of its endpoint. */
export function credentialDigestOf(intent: AnyIntent): string | undefined {
  return 'credentialDigest' in intent ? intent.credentialDigest : undefined
}
