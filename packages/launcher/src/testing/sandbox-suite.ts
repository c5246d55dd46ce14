import { test } from 'vitest'
import type { Sandbox } from '../sandbox.ts'

/**
 * Declares a suite that needs a sandbox of this machine. Where it cannot be made, one skipped test says so by name; with
 * SALLYPORT_REQUIRE_SANDBOX that is a failure.
 */
export async function sandboxSuite(sandbox: Sandbox, declare: () => void): Promise<void> {
  const lacking = await sandbox.lacks()
  if (lacking === undefined) return declare()
  const title = `${sandbox.isolation}: not run here. ${lacking}`
  if (process.env['SALLYPORT_REQUIRE_SANDBOX'])
    test(title, () => {
      throw new Error(lacking)
    })
  else test.skip(title, () => undefined)
}
