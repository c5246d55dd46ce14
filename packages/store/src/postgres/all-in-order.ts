/** Waits for all, then throws the first failure: those after it only say that the transaction is aborted. */
export async function allInOrder<const Sent extends readonly Promise<unknown>[]>(
  sent: Sent,
): Promise<{ -readonly [Place in keyof Sent]: Awaited<Sent[Place]> }> {
  const results = await Promise.allSettled(sent)
  const values = results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
  return values as { -readonly [Place in keyof Sent]: Awaited<Sent[Place]> }
}
