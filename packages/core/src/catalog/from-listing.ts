/** The draft of a catalog from what the worker lists. Nothing in it is decided: every tool counts as a write and is out. */
import { SallyportError, toSallyportError } from '@sallyport/protocol'
import { type ListedTool, type Listing, listingDigest, toolDigest } from '@sallyport/protocol/node'
import { compileRoot } from '../schema/compile.ts'
import { paramHeaders } from '../schema/param-headers.ts'
import type { CatalogTool, Flag } from './catalog.ts'
import { exposedNames } from './naming.ts'
import { flagger } from './review-flags.ts'

/**
 * Sorted by name. Throws `upstream_protocol` when a name comes twice, or when a digest is not that of what it stands
 * for: what a person reviews must be what the worker will compare with. `foreignNames` are tools of other connections
 * that the reviewer may know of. Compiling many schemas takes long, so other work gets its turn between two tools.
 */
export async function catalogFromListing(
  listing: Listing,
  connectionName: string,
  foreignNames: readonly string[] = [],
): Promise<CatalogTool[]> {
  checkDigests(listing)
  const names = listing.tools.map(({ name }) => name)
  if (new Set(names).size !== names.length)
    throw new SallyportError('upstream_protocol', { field: 'tools' })
  const exposed = exposedNames(connectionName, names)
  const flags = flagger(names, foreignNames)
  const drafts: CatalogTool[] = []
  for (const tool of [...listing.tools].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    drafts.push(draft(tool, exposed.get(tool.name) ?? tool.name, flags(tool)))
    await new Promise((resolve) => setImmediate(resolve))
  }
  return drafts
}

function checkDigests({ tools, digest }: Listing): void {
  const isTrue = tools.every((tool) => tool.digest === toolDigest(tool))
  if (!isTrue || digest !== listingDigest(tools))
    throw new SallyportError('upstream_protocol', { field: 'tools' })
}

function draft(tool: ListedTool, exposedName: string, flags: readonly Flag[]): CatalogTool {
  return {
    name: tool.name,
    exposedName,
    title: tool.title ?? null,
    description: tool.description ?? null,
    inputSchema: tool.inputSchema,
    outputSchema: tool.outputSchema ?? null,
    annotations: tool.annotations ?? null,
    digest: tool.digest,
    access: 'write',
    decision: 'exclude',
    note: null,
    flags,
    refusedBecause: refusal(tool),
  }
}

/** A tool whose arguments cannot be checked, or whose headers cannot be built, can never be included. */
function refusal({ inputSchema }: ListedTool): string | null {
  try {
    compileRoot(inputSchema, 'catalog')
  } catch (thrown) {
    const { field } = toSallyportError(thrown)
    return `its input schema cannot be enforced${field ? ` (${field})` : ''}`
  }
  const headers = paramHeaders(inputSchema)
  return headers.ok ? null : headers.reason
}
