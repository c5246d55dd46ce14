/** Is the access token of a call still good? An expired one is renewed before the barrier, so that nothing is sent in vain. */
import type { ErrorCode } from '@sallyport/protocol'
import type { Credential } from '../credential/credential.ts'
import type { Entry, Scene } from './scene.ts'

/** `soon`: it is being renewed, and the call is to ask again. Otherwise why it may not be sent. */
export type Readiness = (credential: Credential) => 'ready' | 'soon' | ErrorCode

export function readinessOf(
  { request }: Pick<Entry, 'request'>,
  { authority, deps }: Scene,
): ReturnType<Readiness> {
  const { credentialId } = request.tool.binding
  const credential = credentialId === null ? undefined : authority.credentials.get(credentialId)
  return credential?.clear.oauth && deps.readiness ? deps.readiness(credential) : 'ready'
}
