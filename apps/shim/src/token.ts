/** The session's token: from a file that nobody else may read, or a descriptor. */
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'

/** Throws an Error whose message is for whoever started the shim. */
export function readToken(from: string | number): string {
  const fd = typeof from === 'string' ? openSync(from, 'r') : from
  const stat = fstatSync(fd)
  if (stat.isFile() && stat.mode & 0o077) throw new Error('others can read the token: chmod 600')
  const text = readFileSync(fd, 'latin1').trim()
  closeSync(fd)
  if (!/^[\w-]{43}$/.test(text)) throw new Error('that is not the token of a session')
  return text
}
