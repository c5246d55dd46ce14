/** Resolves once the condition holds, asked again after whatever else is to be done; throws after ten seconds. */
export async function until(condition: () => boolean, told = () => ''): Promise<void> {
  const end = performance.now() + 10_000
  while (!condition()) {
    if (performance.now() > end) throw new Error(`waited too long ${told()}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
