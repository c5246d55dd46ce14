/** Seeds that found something once. They are run before any others. */
interface Kept {
  readonly suite: 'codec' | 'worker' | 'gateway' | 'answers' | 'listings' | 'redial'
  readonly seed: number
  readonly found: string
}

const kept: readonly Kept[] = [
  {
    suite: 'worker',
    seed: 80,
    found: 'a ping with any head was echoed, one nested without end crashed',
  },
  { suite: 'worker', seed: 304, found: 'settled without a list was thrown' },
  {
    suite: 'gateway',
    seed: 7_866,
    found: 'a result of a length that is no integer went into the row',
  },
  { suite: 'answers', seed: 1_066, found: 'progress of 1e999 became null' },
]

const isThorough = process.env['SALLYPORT_TEST_ALL'] === '1'
const given = Number(process.env['SALLYPORT_TEST_SEED'])

/** One row again: then nothing is said about how many went well. */
export const isRepeated = Number.isInteger(given) && given > 0

/** The seeds of one run: those of the corpus, then as many from the first on; `SALLYPORT_TEST_SEED` alone when it is set. */
export function seedsFor(suite: Kept['suite'], few: number, many: number): number[] {
  if (isRepeated) return [given]
  const known = kept.filter((one) => one.suite === suite).map(({ seed }) => seed)
  const count = isThorough ? many : few
  return [...new Set([...known, ...Array.from({ length: count }, (_, index) => 1 + index)])]
}
