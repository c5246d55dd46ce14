/** Digests of what an upstream lists. Gateway and worker make them with this, so that both mean the same tool. */
import { type Digest, digestOf } from './digest.ts'
import { SallyportError } from './errors.ts'
import type { ListedTool } from './worker-wire.ts'

/**
 * Over what a person reviews; absent members and members the protocol has not are left out. Throws `upstream_protocol`
 * for text or numbers that have no canonical form.
 */
export function toolDigest(tool: Omit<ListedTool, 'digest'>): Digest {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool
  return canonical({ name, title, description, inputSchema, outputSchema, annotations })
}

/** Over [name, digest] of every tool, by name (code unit order). */
export function listingDigest(tools: readonly Pick<ListedTool, 'name' | 'digest'>[]): Digest {
  const pairs = tools.map(({ name, digest }) => [name, digest] as const)
  return canonical(pairs.sort(([a], [b]) => (a < b ? -1 : Number(a > b))))
}

function canonical(value: unknown): Digest {
  try {
    return digestOf(value)
  } catch (cause) {
    throw new SallyportError('upstream_protocol', { field: 'tools', cause })
  }
}
