/** What the answer to `tools/call` means. */
import { isUtf8 } from 'node:buffer'
import { type ErrorCode, SallyportError } from '@sallyport/protocol'
import type { ResultHead } from '@sallyport/protocol/node'
import type { Message, Payload } from '../http/message-reader.ts'
import type { Outcome } from '../orders/outcome.ts'
import { holdsForm } from '../vault/leak-forms.ts'
import type { Contact } from './contact.ts'
import { type Cutting, cutResult } from './cut-result.ts'

/** Codes of complete refusals: the server says that it did nothing. */
export function refusedWith(status: number, contact: Contact, body: string): ErrorCode {
  if (status === 401) return 'upstream_unauthorized'
  if (status === 403) return 'upstream_forbidden'
  if (status === 429) return 'upstream_rate_limited'
  if (contact.sessionId !== undefined && isSessionLost(status, body)) return 'upstream_session_lost'
  return 'upstream_refused'
}

/** The specification says 404; the reference server says 400 with a code of its own. */
function isSessionLost(status: number, body: string): boolean {
  if (status === 404) return true
  if (status !== 400) return false
  try {
    return JSON.parse(body)?.error?.code === -32000
  } catch {
    return false
  }
}

export interface AnswerContext {
  readonly contact: Contact
  readonly forms: readonly Buffer[]
  /** How a result over the limit is cut; left out: it is withheld. */
  readonly cutting?: Pick<Cutting, 'limit' | 'intent'> | undefined
}

/** Throws `upstream_protocol` for what is no answer to a call. */
export function outcomeOfAnswer({ result, error }: Message, context: AnswerContext): Outcome {
  if ((result === undefined) === (error === undefined))
    throw new SallyportError('upstream_protocol')
  if (error) return passOn(error, context.forms, { rpcError: true })
  return ofResult(result as Payload, context)
}

function ofResult(payload: Payload, context: AnswerContext): Outcome {
  const { contact, forms } = context
  if (!payload.raw) return overLimit(payload, context)
  const { isError, resultType } = parseResult(payload.raw)
  if (resultType === 'input_required') return inputRequired(payload)
  const isComplete = resultType === undefined || resultType === 'complete'
  if (contact.era === 'modern' && !isComplete) throw new SallyportError('upstream_protocol')
  return passOn(payload, forms, isError === true ? { isError } : {})
}

/** Of a legacy server too: a guest of 2026-07-28 would take it for a question to answer. */
function inputRequired({ bytes, digest }: Payload): Outcome {
  return { head: { verdict: 'result', code: 'input_required', bytes, digest } }
}

/** Whatever its form is, the call was done. */
function overLimit(payload: Payload, { contact, forms, cutting }: AnswerContext): Outcome {
  const { bytes, digest, beginning } = payload
  const { isError, resultType } = beginning ?? {}
  if (resultType === 'input_required') return inputRequired(payload)
  const isComplete = resultType === undefined || resultType === 'complete'
  const isKnown = contact.era === 'legacy' || isComplete
  const cut =
    cutting && beginning && isKnown ? cutResult(beginning, { ...cutting, bytes, forms }) : undefined
  const known = isError === true ? { isError } : {}
  if (cut === undefined || cut === 'credential')
    return passOn(payload, forms, known, cut === 'credential')
  return { head: { verdict: 'result', bytes, digest, ...known, isCut: true }, raw: cut }
}

function passOn(
  { raw, bytes, digest }: Payload,
  forms: readonly Buffer[],
  known: Pick<ResultHead, 'isError' | 'rpcError'>,
  isLeak = false,
): Outcome {
  const head = { verdict: 'result', bytes, digest, ...known } as const
  if (isLeak) return { head: { ...head, code: 'credential_in_result', withheld: 'credential' } }
  if (!raw) return { head: { ...head, code: 'result_too_large', withheld: 'too_large' } }
  if (!isUtf8(raw)) throw new SallyportError('upstream_protocol')
  if (known.rpcError) parseResult(raw)
  if (holdsForm(raw, forms))
    return { head: { ...head, code: 'credential_in_result', withheld: 'credential' } }
  return { head, raw }
}

function parseResult(raw: Buffer): { readonly isError?: unknown; readonly resultType?: unknown } {
  try {
    if (raw[0] === 123) return JSON.parse(raw.toString())
  } catch {
    // Told below, as for what is no object.
  }
  throw new SallyportError('upstream_protocol')
}
