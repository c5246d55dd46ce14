import type { ErrorCode } from '@sallyport/protocol'
import { type AnyIntent, digestBytes } from '@sallyport/protocol/node'
import { type CarriedSeal, credentialDigestOf, endpointDigestOf } from './carried-seal.ts'

const empty = digestBytes('')

/** Why what travels beside an intent is not what the intent names, or undefined. Every digest is made here. */
export function bodyProblem(
  intent: AnyIntent,
  endpoint: CarriedSeal | undefined,
  credential: CarriedSeal | undefined,
  raw: Buffer,
): ErrorCode | undefined {
  const isSame =
    endpoint?.digest === endpointDigestOf(intent) &&
    credential?.digest === credentialDigestOf(intent) &&
    digestBytes(raw) === (argumentsDigestOf(intent) ?? empty)
  return isSame ? undefined : 'intent_refused'
}

function argumentsDigestOf(intent: AnyIntent): string | undefined {
  return 'argumentsDigest' in intent ? intent.argumentsDigest : undefined
}
