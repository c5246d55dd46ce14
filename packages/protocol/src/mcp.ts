/** Words of the Model Context Protocol that both the guest side and the upstream side need. */
export const modernVersion = '2026-07-28'
export const legacyVersions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const

export const meta = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const

/**
 * Header values of 2026-07-28: plain ASCII as it is; anything else, outer spaces, or what looks like the marker is
 * base64 between `=?base64?` and `?=`.
 */
export function encodeHeaderValue(value: string): string {
  const plain =
    /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !/^=\?base64\?.*\?=$/.test(value)
  if (plain) return value
  let binary = ''
  for (const byte of new TextEncoder().encode(value)) binary += String.fromCharCode(byte)
  return `=?base64?${btoa(binary)}?=`
}

/**
 * The text behind a header value; undefined when the marker holds anything but the one base64 of UTF-8 text: `atob`
 * alone forgives missing padding, and one value must not have two spellings.
 */
export function decodeHeaderValue(header: string): string | undefined {
  const coded = /^=\?base64\?(.*)\?=$/.exec(header)?.[1]
  if (coded === undefined) return header
  try {
    const binary = atob(coded)
    if (btoa(binary) !== coded) return undefined
    const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0))
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}
