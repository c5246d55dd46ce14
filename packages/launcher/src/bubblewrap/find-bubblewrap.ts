/** Whether this machine has what a bubblewrap sandbox needs, found out by making one. */
import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { promisify } from 'node:util'
import { ownArchitecture } from '@sallyport/protocol/seccomp'

const run = promisify(execFile)
const triesMs = 10_000

/** Undefined when there is none on the path. */
export function findBubblewrap(path: string = process.env['PATH'] ?? ''): string | undefined {
  const folders = [...path.split(':').filter((folder) => isAbsolute(folder)), '/usr/bin']
  return folders.map((folder) => join(folder, 'bwrap')).find(isExecutable)
}

/** One sentence, or undefined when it works. */
export async function whatBubblewrapLacks(program = findBubblewrap()): Promise<string | undefined> {
  if (process.platform !== 'linux') return `bubblewrap needs Linux; this is ${process.platform}.`
  if (!ownArchitecture()) return `There is no system call filter for ${process.arch}.`
  if (program === undefined) return 'bubblewrap is not installed ("apt-get install bubblewrap").'
  const sandbox = [
    '--unshare-all',
    '--unshare-user',
    '--disable-userns',
    '--as-pid-1',
    '--die-with-parent',
  ]
  const view = ['--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev']
  try {
    await run(program, [...sandbox, ...view, 'true'], { timeout: triesMs, env: {} })
    return undefined
  } catch (thrown) {
    const { stderr } = thrown as { stderr?: string }
    const said = stderr?.trim().split('\n')[0] ?? ''
    return `bubblewrap makes no sandbox here: ${said || 'it does not end in time'}${hint(said)}`
  }
}

/** The two that are met most. */
function hint(said: string): string {
  if (/disable-userns/.test(said)) return ' (version 0.8.0 or later is needed)'
  if (/uid map|user namespace|namespaces/i.test(said))
    return ' (user namespaces are restricted: see kernel.apparmor_restrict_unprivileged_userns)'
  return ''
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
