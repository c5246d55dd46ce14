/** Makes the listing of an upstream from the pages it sent, within the limits, or refuses all of it. */
import { canonicalJson, SallyportError } from '@sallyport/protocol'
import { type ListedTool, type Listing, listingDigest, toolDigest } from '@sallyport/protocol/node'

export const listingLimits = {
  tools: 2_000,
  bytes: 2 * 1024 * 1024,
  schemaBytes: 256 * 1024,
  depth: 64,
} as const

/** Nesting of a page around its schemas: the page, its tools, a tool. */
export const pageDepth = 3

/** Whatever else a tool holds is not reviewed, so it is not looked at. */
interface RawTool {
  readonly name?: unknown
  readonly title?: unknown
  readonly description?: unknown
  readonly inputSchema?: unknown
  readonly outputSchema?: unknown
  readonly annotations?: unknown
}

/** Throws `too_many_tools`, `bad_schema`, `upstream_protocol`. */
export function readListing(
  about: Omit<Listing, 'tools' | 'digest'>,
  raw: readonly unknown[],
): Listing {
  if (raw.length > listingLimits.tools) throw new SallyportError('too_many_tools')
  const tools = raw.map((tool) => readTool((tool ?? {}) as RawTool))
  tools.sort((one, other) => (one.name < other.name ? -1 : Number(one.name > other.name)))
  // Two tools of one name: nobody could say which one was reviewed.
  if (tools.some(({ name }, index) => name === tools[index + 1]?.name)) fail()
  return { ...about, tools, digest: listingDigest(tools) }
}

function readTool({
  name,
  title,
  description,
  inputSchema,
  outputSchema,
  annotations,
}: RawTool): ListedTool {
  if (typeof name !== 'string' || !isToolName(name)) return fail()
  const tool = {
    name,
    ...(title === undefined ? {} : { title: asText(title) }),
    ...(description === undefined ? {} : { description: asText(description) }),
    inputSchema: checkSchema(inputSchema),
    ...(outputSchema === undefined ? {} : { outputSchema: checkSchema(outputSchema) }),
    ...(annotations === undefined ? {} : { annotations: checkSchema(annotations) }),
  }
  return { ...tool, digest: toolDigest(tool) }
}

/** What a server may call a tool: the protocol gives no limit that servers keep to, so ours is only what is safe. */
function isToolName(name: string): boolean {
  return name.length >= 1 && name.length <= 128 && name.isWellFormed() && !/\p{Cc}/u.test(name)
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : fail()
}

function checkSchema(value: unknown): object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return fail()
  if (depthOf(value) > listingLimits.depth || sizeOf(value) > listingLimits.schemaBytes)
    throw new SallyportError('bad_schema')
  return value
}

/** The caller has bounded the nesting of the whole, so this does not go deep. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Object.values(value).reduce((most, inner) => Math.max(most, depthOf(inner)), 0)
}

function sizeOf(value: unknown): number {
  try {
    return Buffer.byteLength(canonicalJson(value))
  } catch (cause) {
    throw new SallyportError('upstream_protocol', { cause })
  }
}

function fail(): never {
  throw new SallyportError('upstream_protocol')
}
