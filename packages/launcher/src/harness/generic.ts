/** Any command. It gets the shim and the socket, and has to be told of them by whoever wrote it. */
import { SallyportError } from '@sallyport/protocol'
import { shimMounts } from './guest-shim.ts'
import type { HarnessAdapter } from './harness-adapter.ts'

export const genericHarness: HarnessAdapter = {
  name: 'generic',
  prepare: async ({ words, isolation, shim, nested = false }) => {
    if (words.length === 0) throw new SallyportError('usage', { field: 'command' })
    return {
      command: words,
      environment: {},
      mounts: shimMounts(shim, isolation),
      covered: [],
      nesting: nested,
      files: () => [],
    }
  },
}
