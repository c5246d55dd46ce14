import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, test } from 'vitest'

const run = promisify(execFile)

/**
 * Declares a suite that needs bubblewrap. Where it makes no sandbox, one skipped test says so by name; with
 * SALLYPORT_REQUIRE_SANDBOX that is a failure.
 */
export async function isolatedSuite(name: string, declare: () => void): Promise<void> {
  const lacking = await whatIsLacking()
  if (lacking === undefined) return void describe(name, declare)
  const title = `${name}: not run here. ${lacking}`
  if (process.env['SALLYPORT_REQUIRE_SANDBOX'])
    test(title, () => {
      throw new Error(lacking)
    })
  else test.skip(title, () => undefined)
}

async function whatIsLacking(): Promise<string | undefined> {
  const user = process.getuid?.() === 0 ? [] : ['--unshare-user', '--disable-userns']
  try {
    await run('bwrap', ['--unshare-pid', ...user, '--ro-bind', '/', '/', '--proc', '/proc', 'true'])
    return undefined
  } catch (thrown) {
    return String((thrown as { stderr?: string }).stderr ?? thrown).trim()
  }
}
