/** Runs the official conformance suite, exactly as it comes from npm, against one server or our client. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundledProgram } from '../harness/bundled-programs.ts'

const manifest = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/conformance/package.json',
)
const runner = join(dirname(manifest), 'dist/index.js')
const preload = fileURLToPath(new URL('./bearer-preload.ts', import.meta.url))
const client =
  bundledProgram('conformance-client') ?? fileURLToPath(new URL('./client.ts', import.meta.url))

export interface SuiteRun {
  readonly code: number
  /** What the runner printed. */
  readonly output: string
}

/** `args`: which scenarios. The runner itself fails when an expected failure has become a success. */
export async function runSuite(
  server: { readonly endpoint: string; readonly token: string },
  args: readonly string[],
): Promise<SuiteRun> {
  const of = { CONFORMANCE_URL: server.endpoint, CONFORMANCE_BEARER: server.token }
  return await run(['--import', preload, runner, 'server', '--url', server.endpoint, ...args], of)
}

/** As `runSuite`, with `client.ts` as the client; the suite starts it once for each scenario, all at the same time. */
export async function runClientSuite(args: readonly string[]): Promise<SuiteRun> {
  const command = `${process.execPath} ${client}`
  return await run([runner, 'client', '--command', command, '--timeout', '240000', ...args], {})
}

async function run(args: readonly string[], more: Record<string, string>): Promise<SuiteRun> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-conformance-'))
  const { PATH = '' } = process.env
  const env = { PATH, HOME: folder, ...more }
  try {
    return await new Promise((resolve) => {
      execFile(
        process.execPath,
        [...args, '-o', folder],
        { env, cwd: folder, timeout: 280_000, maxBuffer: 64 * 1024 * 1024 },
        (error, stdout, stderr) =>
          resolve({ code: error ? Number(error.code ?? 1) : 0, output: stdout + stderr }),
      )
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
