const wordBytes = 4

/** Whether a byte below 0x20 is among them. By words: a pattern takes three times as long over a large body. */
export function hasControl(bytes: Uint8Array): boolean {
  const { buffer, byteOffset, length } = bytes
  const start = (wordBytes - (byteOffset % wordBytes)) % wordBytes
  const count = Math.max(0, Math.floor((length - start) / wordBytes))
  if (count === 0) return bytes.some(isControl)
  const words = new Int32Array(buffer, byteOffset + start, count)
  for (let at = 0; at < count; at++) {
    const word = words[at] as number
    // Below 0x20 a byte borrows; those of 0x80 and more are masked out.
    if (((word - 0x20202020) & ~word & 0x80808080) !== 0) return true
  }
  const end = start + count * wordBytes
  return bytes.subarray(0, start).some(isControl) || bytes.subarray(end).some(isControl)
}

function isControl(byte: number): boolean {
  return byte < 0x20
}
