/** Names under which guests see tools: `[A-Za-z0-9_-]`, short enough for every model provider, never the same twice. */
import { digestBytes } from '@sallyport/protocol/node'

/** With `mcp__`, connection and separator; the shortest limit among model providers. */
const nameLimit = 64
/** Of the digest, in hexadecimal digits. The longer ones are for names that were made to share a short one. */
const suffixLengths = [8, 16, 24]

/**
 * Upstream name → exposed name. A name that fits and that nobody else would get stays; any other ends in a digest of the
 * upstream's name, so that the result does not depend on the order of the listing.
 */
export function exposedNames(
  connectionName: string,
  toolNames: readonly string[],
): Map<string, string> {
  const room = nameLimit - `mcp__${connectionName}__`.length
  const exposed = new Map<string, string>()
  let waiting = [...new Set(toolNames)]
  for (const nameOf of [plainName, ...suffixLengths.map(suffixedName)]) {
    const candidates = waiting.map((name) => [name, nameOf(name, room)] as const)
    const claims = countOf(candidates.map(([, candidate]) => candidate))
    for (const [name, candidate] of candidates)
      if (candidate !== undefined && claims.get(candidate) === 1) exposed.set(name, candidate)
    waiting = waiting.filter((name) => !exposed.has(name))
  }
  return exposed
}

/** Is an exposed name still short enough, whatever the connection is called now? */
export function fitsName(connectionName: string, exposedName: string): boolean {
  return `mcp__${connectionName}__${exposedName}`.length <= nameLimit
}

function countOf(values: readonly (string | undefined)[]): Map<string | undefined, number> {
  const counts = new Map<string | undefined, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}

function cleaned(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, '_')
}

/** Undefined for a name that is too long, or that looks as if it had a suffix: it could be another tool's with one. */
function plainName(name: string, room: number): string | undefined {
  const clean = cleaned(name)
  const isSuffixed = /_(?:[0-9a-f]{8}){1,3}$/.test(clean)
  return clean !== '' && clean.length <= room && !isSuffixed ? clean : undefined
}

function suffixedName(length: number): (name: string, room: number) => string {
  return (name, room) => {
    const digits = digestBytes(name).slice('sha256:'.length)
    return `${cleaned(name).slice(0, room - length - 1)}_${digits.slice(0, length)}`
  }
}
