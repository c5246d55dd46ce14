/** Fetches every page of an upstream's tools. */
import { isUtf8 } from 'node:buffer'
import { SallyportError } from '@sallyport/protocol'
import type { Listing } from '@sallyport/protocol/node'
import { ask } from '../upstream/ask.ts'
import type { Channel } from '../upstream/channel.ts'
import type { Contact } from '../upstream/contact.ts'
import { holdsForm } from '../vault/leak-forms.ts'
import { listingLimits, pageDepth, readListing } from './read-listing.ts'

interface Page {
  readonly tools: readonly unknown[]
  /** An empty one is one too. */
  readonly nextCursor: string | undefined
}

const pageMs = 10_000
const totalMs = 30_000
const pagesAtMost = 500
const cursorLimit = 4_096
/** A server's words about itself. */
const nameLimit = 256

/**
 * Rejects with an `upstream_*` code, `too_many_tools`, `bad_schema`, or `credential_in_result` when the server says the
 * credential in its list or in what it says of itself.
 */
export async function listTools(channel: Channel, contact: Contact): Promise<Listing> {
  const about = aboutServer(channel, contact)
  const tools = about.capabilities.includes('tools') ? await allPages(channel, contact) : []
  return readListing(about, tools)
}

/** Searched before it is cut: a part of the credential is not found any more. */
function aboutServer(
  channel: Channel,
  { era, protocolVersion, serverInfo, capabilities }: Contact,
): Omit<Listing, 'tools' | 'digest'> {
  const said = Buffer.from(JSON.stringify([serverInfo, capabilities]))
  if (holdsForm(said, channel.target().forms)) throw new SallyportError('credential_in_result')
  if (!serverInfo) return { era, protocolVersion, capabilities }
  const { name, version } = serverInfo
  return {
    era,
    protocolVersion,
    serverInfo: { name: name.slice(0, nameLimit), version: version.slice(0, nameLimit) },
    capabilities,
  }
}

async function allPages(channel: Channel, contact: Contact): Promise<unknown[]> {
  const until = channel.clock.monotonic() + totalMs
  const tools: unknown[] = []
  let bytes = 0
  let cursor: string | undefined
  for (let pages = 0; pages < pagesAtMost; pages++) {
    if (channel.clock.monotonic() > until) throw new SallyportError('upstream_timeout')
    const raw = await fetchPage(channel, contact, cursor, listingLimits.bytes - bytes)
    const page = readPage(raw)
    bytes += raw.length
    if (tools.length + page.tools.length > listingLimits.tools)
      throw new SallyportError('too_many_tools')
    tools.push(...page.tools)
    if (page.nextCursor === undefined) return tools
    cursor = page.nextCursor
  }
  throw new SallyportError('upstream_too_large')
}

/** The bytes of one page, not nested too deeply, without the credential. */
async function fetchPage(
  channel: Channel,
  contact: Contact,
  cursor: string | undefined,
  keptBytes: number,
): Promise<Buffer> {
  const { result, deepest } = await ask(channel, contact, {
    method: 'tools/list',
    params: cursor === undefined ? {} : { cursor },
    keptBytes,
    totalMs: pageMs,
  })
  if (!result) throw new SallyportError('upstream_protocol')
  if (!result.raw) throw new SallyportError('upstream_too_large')
  if (deepest > listingLimits.depth + pageDepth) throw new SallyportError('bad_schema')
  if (!isUtf8(result.raw)) throw new SallyportError('upstream_protocol')
  if (holdsForm(result.raw, channel.target().forms))
    throw new SallyportError('credential_in_result')
  return result.raw
}

function readPage(raw: Buffer): Page {
  const { tools, nextCursor } = parse(raw)
  const isCursor = typeof nextCursor === 'string' && nextCursor.length <= cursorLimit
  if (!Array.isArray(tools) || !(isCursor || nextCursor === undefined || nextCursor === null))
    throw new SallyportError('upstream_protocol')
  return { tools, nextCursor: isCursor ? nextCursor : undefined }
}

function parse(raw: Buffer): { readonly tools?: unknown; readonly nextCursor?: unknown } {
  try {
    return JSON.parse(raw.toString()) ?? {}
  } catch (cause) {
    throw new SallyportError('upstream_protocol', { cause })
  }
}
