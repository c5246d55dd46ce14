import { randomSupply } from '../random-supply.ts'

const idBytes = 16

/** Ids of 128 random bits behind the time, which comes first because an index takes new rows at its end much quicker. */
export function randomIds(random: (size: number) => Uint8Array, now: () => number): () => string {
  const supply = randomSupply(random)
  let time = Number.NaN
  let timeText = ''
  return () => {
    const at = now()
    // To write so large a number to another base costs more than the rest.
    if (at !== time) [time, timeText] = [at, at.toString(36)]
    return `${timeText}-${supply(idBytes).toString('base64url')}`
  }
}
