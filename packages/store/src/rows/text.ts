/** Text as it is kept, so that every engine gives back exactly what it was given and sorts it the same way. */

const mark = '\u0001'

/**
 * Neither engine keeps every JavaScript string: Postgres refuses NUL, and half a surrogate pair has no UTF-8. A guest can
 * send both as the name of a tool, and its refusal must still be recorded; such texts are kept as JSON behind a mark.
 */
export function keepText(text: string): string {
  if (typeof text !== 'string') throw new TypeError('not a text')
  const plain = text.isWellFormed() && !text.includes('\0') && !text.startsWith(mark)
  return plain ? text : mark + JSON.stringify(text)
}

/** The text that `keepText` was given. Throws for what it never makes. */
export function readText(kept: unknown): string {
  if (typeof kept !== 'string') throw new TypeError('not a text')
  if (!kept.startsWith(mark)) return kept
  const text: unknown = JSON.parse(kept.slice(mark.length))
  if (typeof text !== 'string') throw new TypeError('not a text')
  return text
}

/** Order by code point, as SQLite (BINARY) and Postgres ("C") sort; JavaScript's own order is by UTF-16 unit. */
export function compareText(a: string, b: string): number {
  const x = keepText(a)
  const y = keepText(b)
  const end = Math.min(x.length, y.length)
  for (let i = 0; i < end; i++) {
    const difference = rank(x.charCodeAt(i)) - rank(y.charCodeAt(i))
    if (difference !== 0) return difference
  }
  return x.length - y.length
}

/** Surrogates stand for code points above every other unit. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}
