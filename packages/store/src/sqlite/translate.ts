/** A statement as SQLite takes it: lists as JSON, and no row locks (one transaction writes at a time). */
export function translate(sql: string): string {
  const plain = sql
    .replace(/ = ANY\(\$(\d+)\)/g, ' IN (SELECT value FROM json_each($$$1))')
    .replace(/ FOR (?:SHARE|KEY SHARE|NO KEY UPDATE)\b(?: SKIP LOCKED\b)?/g, '')
  // A parameter with a number has a name, and names are gone through from the first one for each that is bound.
  return plain.replace(/\$(\d+)/g, inOrder(plain) ? '?' : '?$1')
}

/** Each parameter occurs once, one after the other. */
function inOrder(sql: string): boolean {
  const numbers = Array.from(sql.matchAll(/\$(\d+)/g), ([, number]) => Number(number))
  return numbers.every((number, at) => number === at + 1)
}
