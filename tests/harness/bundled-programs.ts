/** Where the bundled programs of this run of vitest are. `bundle-programs.ts` makes them. */
import { join } from 'node:path'

/** Names their folder; the processes of the tests inherit it. */
export const programsVariable = 'SALLYPORT_TEST_PROGRAMS'

/** A program as it ships; the gateway starts a worker as it ships. Undefined where nothing was bundled: outside of vitest. */
export function bundledProgram(name: 'gateway' | 'cli' | 'conformance-client'): string | undefined {
  const folder = process.env[programsVariable]
  return folder === undefined ? undefined : join(folder, `${name}.js`)
}
