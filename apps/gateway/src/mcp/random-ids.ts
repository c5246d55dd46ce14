/**
 * Ids of 128 random bits behind the time. From a supply, because a system call for each costs more than the rest of a
 * request's framing; the time first, because an index takes new rows at its end much quicker than all over.
 */
const idBytes = 16
const supplyBytes = 256 * idBytes

export function randomIds(random: (size: number) => Uint8Array, now: () => number): () => string {
  let supply = Buffer.alloc(0)
  let at = 0
  return () => {
    if (at === supply.length) {
      supply = Buffer.from(random(supplyBytes))
      at = 0
    }
    at += idBytes
    return `${now().toString(36)}-${supply.toString('base64url', at - idBytes, at)}`
  }
}
