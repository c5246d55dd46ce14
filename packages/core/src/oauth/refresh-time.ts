import { digestBytes } from '@sallyport/protocol/node'
import type { Credential } from '../credential/credential.ts'

const aheadAtMostMs = 10 * 60_000

/**
 * When to refresh ahead, ms since 1970: within the last fifth of its life, ten minutes at most, at a moment that is drawn
 * for each version once, so that credentials that were made together are not refreshed together. Undefined for one that
 * is not refreshed.
 */
export function refreshAt(credential: Credential): number | undefined {
  const { state, clear, updatedAt } = credential
  const { expiresAt, refreshable } = clear.oauth ?? {}
  if (state !== 'active' || !refreshable || expiresAt === undefined) return undefined
  const ahead = Math.min(aheadAtMostMs, Math.max(0, expiresAt - updatedAt) / 5)
  return expiresAt - ahead * (0.5 + chanceOf(credential) / 2)
}

/** From 0 to below 1. Drawn anew with every look, the first high one would count, and all would be high soon. */
function chanceOf({ id, version }: Credential): number {
  const hex = digestBytes(`${id} ${version}`).slice('sha256:'.length, 'sha256:'.length + 8)
  return Number.parseInt(hex, 16) / 2 ** 32
}
