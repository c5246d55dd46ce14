import { digestBytes, type SealBook } from '@sallyport/protocol/node'

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
