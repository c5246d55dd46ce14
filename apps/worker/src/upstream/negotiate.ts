/** Finds out which era an upstream speaks and opens a legacy session, with the official SDK. */
import { legacyVersions, SallyportError } from '@sallyport/protocol'
import type { Channel } from './channel.ts'
import type { Contact } from './contact.ts'
import { endSession } from './end-session.ts'
import { clientInfo } from './requests.ts'
import { sdkFetch } from './sdk-fetch.ts'

const requestMs = 10_000
/** Longer than one request, so that it is our own limit that is told. */
const negotiateMs = 14_000

/** `knownLegacy` skips the question. Rejects with an `upstream_*` code or what the vault throws. */
export async function negotiate(channel: Channel, knownLegacy: boolean): Promise<Contact> {
  // Loaded when it is needed first: it takes longer than everything else of the worker's start.
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const client = new Client(clientInfo, { versionNegotiation: { mode: 'auto' }, capabilities: {} })
  const { fetch, problem, unanswered, end } = sdkFetch(channel, requestMs)
  const transport = new StreamableHTTPClientTransport(new URL('https://upstream.invalid/'), {
    fetch,
    requestInit: { redirect: 'error' },
  })
  try {
    const connecting = client.connect(transport, {
      timeout: negotiateMs,
      ...(knownLegacy ? { prior: { kind: 'legacy' } } : {}),
    })
    await Promise.race([connecting, unanswered])
    return contactOf(client, transport.sessionId)
  } catch (cause) {
    const code = problem() ?? 'upstream_not_mcp'
    await endHalfOpened(channel, transport)
    throw new SallyportError(code, { cause })
  } finally {
    end()
    // Ends nothing at the other side: the session lives on with the id.
    await client.close().catch(() => {})
  }
}

/** A legacy server has a session from its first answer on, whatever goes wrong behind it. */
async function endHalfOpened(
  channel: Channel,
  { sessionId, protocolVersion = legacyVersions[0] }: Handshake,
): Promise<void> {
  if (sessionId === undefined) return
  const contact = { era: 'legacy', protocolVersion, sessionId } as const
  await endSession(channel, { ...contact, capabilities: [], announcesTools: false })
}

interface Handshake {
  readonly sessionId: string | undefined
  readonly protocolVersion?: string | undefined
}

interface Negotiated {
  getNegotiatedProtocolVersion(): string | undefined
  getServerCapabilities():
    | (object & { readonly tools?: { readonly listChanged?: boolean | undefined } | undefined })
    | undefined
  getServerVersion(): { readonly name: string; readonly version: string } | undefined
  getProtocolEra(): 'modern' | 'legacy' | undefined
}

function contactOf(client: Negotiated, sessionId: string | undefined): Contact {
  const protocolVersion = client.getNegotiatedProtocolVersion()
  if (protocolVersion === undefined) throw new SallyportError('upstream_not_mcp')
  const capabilities = client.getServerCapabilities() ?? {}
  const server = client.getServerVersion()
  return {
    era: client.getProtocolEra() ?? 'legacy',
    protocolVersion,
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(server
      ? { serverInfo: { name: String(server.name), version: String(server.version) } }
      : {}),
    capabilities: Object.keys(capabilities).sort(),
    announcesTools: capabilities.tools?.listChanged === true,
  }
}
