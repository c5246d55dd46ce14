/**
 * Names that do not belong to the public internet (RFC 6761 and its registry, RFC 6762 appendix G, ICANN's `internal`).
 * Judged by name only where no address is known: behind a proxy that resolves, they would be its own neighbours.
 */
const tops = new Set(
  'alt arpa corp example home internal intranet invalid lan local localdomain localhost onion private test'.split(
    ' ',
  ),
)

/** `name`: in lower case, without the last dot. */
export function isSpecialName(name: string): boolean {
  const labels = name.split('.')
  return labels.length === 1 || tops.has(labels.at(-1) as string)
}
