import type { ErrorCode } from '@sallyport/protocol'
import { digestBytes, type Intent } from '@sallyport/protocol/node'
import type { CarriedSeal } from './carried-seal.ts'

const empty = digestBytes('')

/** Why what travels beside an intent is not what the intent names, or undefined. Every digest is made here. */
export function bodyProblem(
  intent: Intent,
  endpoint: CarriedSeal | undefined,
  credential: CarriedSeal | undefined,
  raw: Buffer,
): ErrorCode | undefined {
  const isSame =
    endpoint?.digest === intent.endpointDigest &&
    credential?.digest === intent.credentialDigest &&
    digestBytes(raw) === (intent.argumentsDigest ?? empty)
  return isSame ? undefined : 'intent_refused'
}
