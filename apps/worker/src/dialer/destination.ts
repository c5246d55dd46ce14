import { isIP } from 'node:net'
import { type Origin, SallyportError } from '@sallyport/protocol'
import { isName } from '@sallyport/protocol/network'

/** Where a connection shall lead. */
export interface Destination extends Origin {
  /** The connection or webhook that goes there: some private networks are open to it alone. */
  readonly subject?: string | undefined
}

/**
 * The host without brackets. Throws `upstream_blocked_address` unless it is spelt as the URL parser spells it: what
 * judged another spelling (`0x7f.1`, `LOCALHOST`, full-width digits) judged another host.
 */
export function hostOf({ host }: Destination): string {
  const isCanonical =
    URL.canParse(`https://${host}`) && new URL(`https://${host}`).hostname === host
  const bare = host.replace(/^\[|\]$/g, '')
  const isWhole = isIP(bare) > 0 || isName(bare)
  if (!isCanonical || !isWhole) throw blocked()
  return bare
}

export function blocked(): SallyportError {
  return new SallyportError('upstream_blocked_address')
}
