import type { ErrorCode } from '@sallyport/protocol'
import { type BodyHead, digestBytes, type Intent } from '@sallyport/protocol/node'

const empty = digestBytes('')

/** Why what travels beside an intent is not what the intent names, or undefined. Every digest is made anew. */
export function bodyProblem(intent: Intent, head: BodyHead, raw: Buffer): ErrorCode | undefined {
  const { endpoint, credential } = head
  const isSame =
    typeof endpoint === 'string' &&
    digestBytes(endpoint) === intent.endpointDigest &&
    (credential === undefined ? undefined : digestBytes(credential)) === intent.credentialDigest &&
    digestBytes(raw) === (intent.argumentsDigest ?? empty)
  return isSame ? undefined : 'intent_refused'
}
