/** Random numbers that a printed seed brings back. */
export interface Random {
  readonly seed: number
  /** From 0 up to 1. */
  next(): number
  /** A whole number below that. */
  below(limit: number): number
  pick<T>(choices: readonly T[]): T
}

/** `SALLYPORT_TEST_SEED` repeats a run. */
export function seededRandom(): Random {
  const given = Number(process.env['SALLYPORT_TEST_SEED'])
  return randomFrom(Number.isInteger(given) && given > 0 ? given : 1 + (Date.now() % 1_000_000_000))
}

/** Mulberry32. */
export function randomFrom(seed: number): Random {
  let state = seed
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    seed,
    next,
    below,
    pick: (choices) => choices[below(choices.length)] as (typeof choices)[number],
  }
}
