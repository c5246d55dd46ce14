/** Ids of 128 random bits, from a supply: a system call for each costs more than the rest of a request's framing. */
const idBytes = 16
const supplyBytes = 256 * idBytes

export function randomIds(random: (size: number) => Uint8Array): () => string {
  let supply = Buffer.alloc(0)
  let at = 0
  return () => {
    if (at === supply.length) {
      supply = Buffer.from(random(supplyBytes))
      at = 0
    }
    at += idBytes
    return supply.toString('base64url', at - idBytes, at)
  }
}
