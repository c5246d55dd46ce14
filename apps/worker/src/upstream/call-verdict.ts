/** What the answer to `tools/call` means. */
import { isUtf8 } from 'node:buffer'
import { type ErrorCode, SallyportError } from '@sallyport/protocol'
import type { ResultHead } from '@sallyport/protocol/node'
import type { Message, Payload } from '../http/message-reader.ts'
import type { Outcome } from '../orders/outcome.ts'
import { holdsForm } from '../vault/leak-forms.ts'
import type { Contact } from './contact.ts'

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

/** Throws `upstream_protocol` for what is no answer to a call. */
export function outcomeOfAnswer(
  { result, error }: Message,
  contact: Contact,
  forms: readonly Buffer[],
): Outcome {
  if ((result === undefined) === (error === undefined))
    throw new SallyportError('upstream_protocol')
  if (error) return { ...passOn(error, forms, { rpcError: true }) }
  return ofResult(result as Payload, contact, forms)
}

function ofResult(payload: Payload, contact: Contact, forms: readonly Buffer[]): Outcome {
  if (!payload.raw) return passOn(payload, forms, {})
  const { isError, resultType } = parseResult(payload.raw)
  // Of a legacy server too: a guest of 2026-07-28 would take it for a question to answer.
  if (resultType === 'input_required') {
    const { bytes, digest } = payload
    return { head: { verdict: 'result', code: 'input_required', bytes, digest } }
  }
  const isComplete = resultType === undefined || resultType === 'complete'
  if (contact.era === 'modern' && !isComplete) throw new SallyportError('upstream_protocol')
  return passOn(payload, forms, isError === true ? { isError } : {})
}

function passOn(
  { raw, bytes, digest }: Payload,
  forms: readonly Buffer[],
  known: Pick<ResultHead, 'isError' | 'rpcError'>,
): Outcome {
  const head = { verdict: 'result', bytes, digest, ...known } as const
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
