import { randomSupply } from '../random-supply.ts'

const idBytes = 16

/** Ids of 128 random bits behind the time, which comes first because an index takes new rows at its end much quicker. */
export function randomIds(random: (size: number) => Uint8Array, now: () => number): () => string {
  const supply = randomSupply(random)
  return () => `${now().toString(36)}-${supply(idBytes).toString('base64url')}`
}
