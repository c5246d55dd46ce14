/**
 * Real clients at exact versions, installed once into a cache outside the lockfile: they are large, and not all of them
 * may be shipped with anything.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

interface Client {
  readonly package: string
  readonly version: string
  readonly bin: string
  /** Left to `npm run test:all`. */
  readonly isExtra?: true
}

export const clients = {
  claude: { package: '@anthropic-ai/claude-code', version: '2.1.332', bin: 'claude' },
  codex: { package: '@openai/codex', version: '0.171.0', bin: 'codex' },
  inspector: {
    package: '@modelcontextprotocol/inspector',
    version: '2.12.0',
    bin: 'mcp-inspector',
  },
  pi: { package: '@earendil-works/pi-coding-agent', version: '1.6.0', bin: 'pi' },
  opencode: { package: 'opencode-ai', version: '1.18.33', bin: 'opencode', isExtra: true },
  gemini: { package: '@google/gemini-cli', version: '0.61.0', bin: 'gemini', isExtra: true },
  'claude-acp': {
    package: '@agentclientprotocol/claude-agent-acp',
    version: '0.101.0',
    bin: 'claude-agent-acp',
  },
  'codex-acp': {
    package: '@agentclientprotocol/codex-acp',
    version: '2.6.0',
    bin: 'codex-acp',
    isExtra: true,
  },
} as const satisfies Record<string, Client>
export type ClientName = keyof typeof clients

const { SALLYPORT_CLIENT_CACHE, SALLYPORT_REQUIRE_CLIENTS, SALLYPORT_TEST_ALL, XDG_CACHE_HOME } =
  process.env
const cache =
  SALLYPORT_CLIENT_CACHE ??
  (XDG_CACHE_HOME
    ? join(XDG_CACHE_HOME, 'sallyport/clients')
    : fileURLToPath(new URL('../../.cache/clients', import.meta.url)))
const installLimitMs = 300_000

/** The program of the client, installed if it was not. Rejects with npm's own words when it cannot be installed. */
async function installClient(name: ClientName): Promise<string> {
  const { package: packageName, version, bin } = clients[name]
  const folder = join(cache, `${name}-${version}`)
  const program = join(folder, 'node_modules/.bin', bin)
  const marker = join(folder, 'installed')
  if (existsSync(marker)) return program
  await mkdir(cache, { recursive: true })
  const unlock = await lock(`${folder}.lock`)
  try {
    if (existsSync(marker)) return program
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder)
    await writeFile(join(folder, 'package.json'), '{"private":true}\n')
    const target = ['--prefix', folder, '--no-audit', '--no-fund', '--loglevel', 'error']
    await promisify(execFile)('npm', ['install', ...target, `${packageName}@${version}`], {
      cwd: folder,
      timeout: installLimitMs,
    })
    await writeFile(marker, `${packageName}@${version}\n`)
    return program
  } finally {
    await unlock()
  }
}

/** Waits until the process that holds the lock has finished or is gone. */
async function lock(path: string): Promise<() => Promise<void>> {
  const deadline = Date.now() + installLimitMs
  while (Date.now() < deadline) {
    try {
      const file = await open(path, 'wx')
      await file.writeFile(String(process.pid))
      await file.close()
      return () => rm(path, { force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const holder = Number(await readFile(path, 'utf8').catch(() => ''))
    if (holder > 0 && !existsSync(`/proc/${holder}`)) await rm(path, { force: true })
    await wait(200)
  }
  throw new Error(`another process has been installing for too long: ${path}`)
}

/** What a suite needs to know of its client. Undefined program: not run, and why. */
export type Installed =
  | { readonly program: string; readonly reason?: never }
  | { readonly program?: never; readonly reason: string }

/**
 * For suites. A client that is left out or cannot be had is named as not run; with `SALLYPORT_REQUIRE_CLIENTS=1` one that
 * cannot be had is a failure.
 */
export async function findClient(name: ClientName): Promise<Installed> {
  const { version, isExtra }: Client = clients[name]
  if (isExtra && SALLYPORT_TEST_ALL !== '1') {
    const reason = `not run: ${name} ${version} is left to npm run test:all`
    process.stderr.write(`${reason}\n`)
    return { reason }
  }
  try {
    return { program: await installClient(name) }
  } catch (error) {
    const reason = `not run: ${name} ${version} could not be installed`
    if (SALLYPORT_REQUIRE_CLIENTS === '1') throw new Error(reason, { cause: error })
    process.stderr.write(`${reason}: ${String((error as Error).message).split('\n')[0]}\n`)
    return { reason }
  }
}
