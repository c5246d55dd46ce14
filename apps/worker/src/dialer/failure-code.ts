import { type ErrorCode, SallyportError } from '@sallyport/protocol'

/** Classes of what goes wrong with a connection, from what Node and undici throw. */
export function failureCode(thrown: unknown): ErrorCode {
  if (thrown instanceof SallyportError) return thrown.code
  const code = String((thrown as { readonly code?: unknown } | undefined)?.code ?? '')
  if (/^(?:ENOTFOUND|EAI_)/.test(code)) return 'upstream_dns'
  if (/TIMEOUT|ETIMEDOUT/.test(code)) return 'upstream_timeout'
  if (/^HPE_|CONTENT_LENGTH_MISMATCH/.test(code)) return 'upstream_protocol'
  if (/OVERFLOW|EXCEEDED/.test(code)) return 'upstream_too_large'
  if (code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_NOT_SUPPORTED') return 'bad_header'
  return 'upstream_unreachable'
}
