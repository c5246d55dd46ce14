import type { ErrorCode } from '@sallyport/protocol'

/** The class of a refusal while connecting or listing. Undefined for 2xx. */
export function refusalOf(status: number): ErrorCode | undefined {
  if (status < 300) return undefined
  if (status === 401) return 'upstream_http_401'
  if (status === 403) return 'upstream_http_403'
  if (status >= 500) return 'upstream_http_5xx'
  // A redirect is never followed: the credential may not go where it points.
  return status < 400 ? 'upstream_not_mcp' : 'upstream_http_4xx'
}
