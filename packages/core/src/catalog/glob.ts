/** Does a name match a pattern of `*` (any text) and `?` (one character)? Linear in the name for each star. */
export function matchesGlob(pattern: string, name: string): boolean {
  // Most patterns are names, and many of them may be compared with many tools.
  if (!/[*?]/.test(pattern)) return pattern === name
  const parts = [...pattern]
  const chars = [...name]
  let at = 0
  let part = 0
  let star = -1
  let resume = 0
  while (at < chars.length) {
    if (parts[part] === '*') {
      star = part++
      resume = at
    } else if (part < parts.length && (parts[part] === '?' || parts[part] === chars[at])) {
      part++
      at++
    } else if (star >= 0) {
      part = star + 1
      at = ++resume
    } else return false
  }
  while (parts[part] === '*') part++
  return part === parts.length
}
