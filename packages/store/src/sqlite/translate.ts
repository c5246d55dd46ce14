/** A statement as SQLite takes it: numbered parameters, lists as JSON, and no row locks (one transaction writes at a time). */
export function translate(sql: string): string {
  return sql
    .replace(/ = ANY\(\$(\d+)\)/g, ' IN (SELECT value FROM json_each($$$1))')
    .replace(/ FOR (?:SHARE|KEY SHARE|NO KEY UPDATE)\b(?: SKIP LOCKED\b)?/g, '')
    .replace(/\$(\d+)/g, '?$1')
}
