/**
 * Which era a request belongs to. The rule: a request is modern when its MCP-Protocol-Version header or the
 * protocolVersion in its `_meta` names 2026-07-28, or when its `_meta` names a version that no era of ours has (which is
 * then refused). Everything else is legacy: those eras say their version once, in `initialize`, and some of their clients
 * never send the header. An Mcp-Session-Id decides nothing.
 */
import { legacyVersions, meta, modernVersion } from '@sallyport/protocol'
import { type Message, stringOf } from './envelope.ts'

export type Era = 'modern' | 'legacy'

export interface Mismatch {
  readonly status: 400
  readonly code: -32602 | -32020 | -32022
  readonly message: string
  readonly data?: unknown
}

export type Headers = Readonly<Record<string, string | string[] | undefined>>

const isLegacy = (version: string): boolean => legacyVersions.some((known) => known === version)

/** The era, or why none can be told. What a modern request must carry beside its version is checked elsewhere. */
export function eraOf(headers: Headers, message: Message): Era | Mismatch {
  const header = single(headers['mcp-protocol-version'])
  const claimText = message.meta.get(meta.protocolVersion)
  const claim = stringOf(claimText)
  if (header === modernVersion || claim === modernVersion) return agreed(header, claim, claimText)
  if (claim !== undefined && !isLegacy(claim)) {
    if (header !== undefined && header !== claim) return versionsDiffer
    return unsupported(claim)
  }
  // The handshake settles the version itself, so its header says nothing yet.
  if (header === undefined || isLegacy(header) || message.method === 'initialize') return 'legacy'
  return unsupported(header)
}

function agreed(
  header: string | undefined,
  claim: string | undefined,
  claimText: string | undefined,
): Era | Mismatch {
  if (header === undefined) return mismatch('The MCP-Protocol-Version header is missing.')
  if (claimText === undefined) return missing(meta.protocolVersion)
  return header === claim ? 'modern' : versionsDiffer
}

export function mismatch(message: string): Mismatch {
  return { status: 400, code: -32020, message }
}

export function missing(key: string): Mismatch {
  return { status: 400, code: -32602, message: `_meta must have ${key}.` }
}

const versionsDiffer = mismatch('The MCP-Protocol-Version header and the version in _meta differ.')

/** `supported` names what a request may carry by itself; the legacy versions are reached through `initialize`. */
function unsupported(requested: string): Mismatch {
  const data = { supported: [modernVersion], requested }
  return { status: 400, code: -32022, message: 'Unsupported protocol version', data }
}

/** One value. Node joins repeated headers with commas, and a joined value equals nothing we compare it with. */
export function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header
}
