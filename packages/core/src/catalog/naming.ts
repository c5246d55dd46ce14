/** Names under which guests see tools: `[A-Za-z0-9_-]`, short enough for every model provider, never the same twice. */
import { digestBytes } from '@sallyport/protocol/node'

/** With `mcp__`, connection and separator; the shortest limit among model providers. */
const nameLimit = 64
const suffixLength = 8

/**
 * Upstream name → exposed name. A name that fits and that nobody else would get stays; any other ends in a digest of the
 * upstream's name, so that the result does not depend on what else is listed before it.
 */
export function exposedNames(
  connectionName: string,
  toolNames: readonly string[],
): Map<string, string> {
  const room = nameLimit - `mcp__${connectionName}__`.length
  const plain = new Map<string, number>()
  for (const name of toolNames) plain.set(cleaned(name), (plain.get(cleaned(name)) ?? 0) + 1)
  return new Map(
    toolNames.map((name) => {
      const clean = cleaned(name)
      const fits = clean !== '' && clean.length <= room && plain.get(clean) === 1
      return [name, fits && !isSuffixed(clean) ? clean : withDigest(name, clean, room)]
    }),
  )
}

/** Is an exposed name still short enough, whatever the connection is called now? */
export function fitsName(connectionName: string, exposedName: string): boolean {
  return `mcp__${connectionName}__${exposedName}`.length <= nameLimit
}

function cleaned(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, '_')
}

/** A name of that form could be the one that another tool gets. */
function isSuffixed(clean: string): boolean {
  return new RegExp(`_[0-9a-f]{${suffixLength}}$`).test(clean)
}

function withDigest(name: string, clean: string, room: number): string {
  const suffix = digestBytes(name).slice('sha256:'.length, 'sha256:'.length + suffixLength)
  return `${clean.slice(0, room - suffixLength - 1)}_${suffix}`
}
