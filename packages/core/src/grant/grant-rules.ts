import type { GrantLimits, ProfileSettings } from '@sallyport/protocol'
import { digestOf } from '@sallyport/protocol/node'
import type { Access } from '../catalog/catalog.ts'
import type { Grant, Mode } from './grant.ts'

/** Read mode is for tools reviewed as reading, write modes for those reviewed as writing. */
export function modeFits(mode: Mode, access: Access): boolean {
  return (mode === 'read') === (access === 'read')
}

/** Which modes a profile lets owners grant for their own connections. Never unattended writes. */
export function admitsPersonal(personal: ProfileSettings['personal'], mode: Mode): boolean {
  if (mode === 'read') return personal !== 'none'
  return mode === 'write_with_approval' && personal === 'write_with_approval'
}

/** Over everything that decides what the grant permits. */
export function grantDigest(
  grant: Pick<Grant, 'profileId' | 'connectionId' | 'tool' | 'mode'> & {
    readonly limits: GrantLimits
  },
): string {
  const { profileId, connectionId, tool, mode, limits } = grant
  return digestOf({ profileId, connectionId, tool, mode, limits })
}
