/**
 * Cuts bytes into lines, holding no more than `limit` bytes of one; of a longer one its beginning is told. An empty chunk ends
 * the last line.
 */
export function lineReader(
  limit: number,
  onLine: (line: Buffer) => void,
  onTooLong: (beginning: Buffer) => void,
): (chunk: Buffer) => void {
  let parts: Buffer[] = []
  let size = 0
  const add = (part: Buffer): void => {
    if (size <= limit) parts.push(part)
    size += part.length
    if (size > limit) parts = [Buffer.concat(parts).subarray(0, beginning)]
  }
  const end = (): void => {
    const tell = size > limit ? onTooLong : onLine
    const line = Buffer.concat(parts)
    parts = []
    size = 0
    tell(line)
  }
  return (chunk) => {
    let start = 0
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, start)) {
      add(chunk.subarray(start, at))
      end()
      start = at + 1
    }
    add(chunk.subarray(start))
    if (chunk.length === 0) end()
  }
}

const beginning = 64
