const supplyBytes = 4096

/** Hands out random bytes, each once, from a supply: a system call for a few of them costs more than what they are for. */
export function randomSupply(random: (size: number) => Uint8Array): (size: number) => Buffer {
  let supply = Buffer.alloc(0)
  let at = 0
  return (size) => {
    if (at + size > supply.length) {
      supply = Buffer.from(random(Math.max(supplyBytes, size)))
      at = 0
    }
    at += size
    return supply.subarray(at - size, at)
  }
}
