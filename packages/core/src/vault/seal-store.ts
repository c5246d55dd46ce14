/** Every seal that is stored, whatever row it is in. */
import type { SealKind, SealPlace } from '@sallyport/protocol/node'

/** A kind that gets a table or a column of its own belongs here: what is not listed dies with its key. */
export const storedSealKinds = [
  'endpoint',
  'credential',
  'webhook',
  'oauth_client',
  'oauth_pending',
] as const satisfies SealKind[]
export type StoredSealKind = (typeof storedSealKinds)[number]

export interface StoredSeal {
  /** Id of the row that holds it: mostly the one its place names, but a connection may have several sign-ins. */
  readonly row: string
  /** As the row says; what the header of the seal says may be something else. */
  readonly place: SealPlace & { readonly kind: StoredSealKind }
  readonly seal: string
}

export interface SealReads {
  /** In the order of their rows' ids, from after `after` (`''`: from the first). Rows without a seal are left out. */
  page(kind: StoredSealKind, after: string, limit: number): Promise<StoredSeal[]>
}

export interface SealWrites extends SealReads {
  /**
   * Puts another seal of the same secret in the place of the one that was read. It is no new version of the row's
   * secret; who changes the row meanwhile is told that it moved. False when the row holds another seal by now.
   */
  replace(seal: StoredSeal, by: string): Promise<boolean>
}
