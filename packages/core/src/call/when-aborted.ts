/** It may have been while the barrier was committed, when nobody listened. */
export function whenAborted(signal: AbortSignal | undefined, act: () => void): void {
  if (signal?.aborted) act()
  else signal?.addEventListener('abort', act)
}
