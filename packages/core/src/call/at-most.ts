/** Resolves when the work has ended, however, or after `ms`. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([Promise.allSettled([work]), late])
  clearTimeout(timer)
}
