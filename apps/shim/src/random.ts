/** 16 random bytes as hex. Read from the system's own source: node:crypto costs a third of the memory a shim may take. */
import { openSync, readSync } from 'node:fs'

export function openRandom(): () => string {
  const fd = openSync('/dev/urandom', 'r')
  const bytes = Buffer.alloc(16)
  return () => {
    readSync(fd, bytes, 0, 16, null)
    return bytes.toString('hex')
  }
}
