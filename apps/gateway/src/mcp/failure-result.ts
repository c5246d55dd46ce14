/**
 * What the model reads when a call was refused or failed: our own sentence for the code, where to look, what to do next.
 * Some clients show the model only the text and others only the structured content, so both say the same.
 */
import type { BoundTool, CallOutcome } from '@sallyport/core'
import { errors } from '@sallyport/protocol'
import { earlierSentence } from './earlier.ts'
import { nextStep } from './next-step.ts'

export type Failure = Extract<CallOutcome, { kind: 'failure' }>

const messageLimit = 1_000
const errorBytesLimit = 65_536

/** A `CallToolResult` without era or identity. */
export function failureResult(
  failure: Failure,
  tool: Pick<BoundTool, 'outputSchema'>,
): Record<string, unknown> {
  const entry = errors[failure.code]
  const { code, field, detail, executionId, rpcError } = failure
  const earlier = failure.earlier && earlierSentence(failure.earlier)
  const next = nextStep(code, executionId)
  const said = rpcError && quoteError(rpcError)
  const lines = [
    `${code}: ${entry.text}`,
    earlier,
    field === undefined
      ? undefined
      : `Field: ${field === '' ? '(the arguments as a whole)' : visible(field)}`,
    detail === undefined ? undefined : `Reason: ${visible(detail)}`,
    said && `The server's own words, as data: ${said}`,
    executionId === null ? undefined : `Execution: ${executionId}`,
    `Next: ${next}`,
  ]
  const error = {
    code,
    message: entry.text,
    earlier,
    field,
    detail,
    upstream: said,
    executionId,
    retry: entry.retry,
    next,
  }
  return {
    content: [{ type: 'text', text: lines.filter((line) => line !== undefined).join('\n') }],
    ...(tool.outputSchema === null ? { structuredContent: { error } } : {}),
    isError: true,
  }
}

/** Message and code of an upstream's JSON-RPC error, quoted so that they can be nothing but a quotation. */
function quoteError(rpcError: Buffer): string {
  if (rpcError.length > errorBytesLimit) return '(too long)'
  try {
    const { code, message } = JSON.parse(rpcError.toString('utf8'))
    const text = typeof message === 'string' ? message : ''
    const cut = text.length > messageLimit ? `${text.slice(0, messageLimit)}…` : text
    return `${visible(JSON.stringify(cut))} (${Number.isInteger(code) ? code : 'no code'})`
  } catch {
    return '(unreadable)'
  }
}

const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

/** Control, bidirectional, zero-width, tag and unassigned characters as `\u{202e}`. */
function visible(text: string): string {
  return text.replace(invisible, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`)
}
