/** A thousand calls that wait for a person, as `bench/src/held-program.ts` measures them; it says what is over its target. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const isThorough = process.env['SALLYPORT_TEST_ALL'] === '1'
const program = fileURLToPath(new URL('../../bench/src/held-program.ts', import.meta.url))

test.runIf(isThorough)(
  'each takes less than 40 KiB, and a read beside them at most half as long again',
  { timeout: 180_000 },
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [program])
    console.info(stdout.trim())
    expect(stdout).toMatch(/KiB resident for each of the second 1000 held calls.*\nread beside/)
  },
)
