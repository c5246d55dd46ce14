/** A file operation in the hands of a guest, or of a provider, may never end. */
export const fileMs = 10_000

export class TookTooLong extends Error {}

/** The work goes on where it is; nobody waits for it any more. */
export async function bounded<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TookTooLong('a file operation took too long')), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
