/**
 * One hermetic run of a real client against a guest endpoint. The environment is built from nothing, so that no
 * credential of whoever runs the tests reaches a client; home, work and temporary folder are the run's own.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'

const tokenVariable = 'SALLYPORT_SESSION_TOKEN'
const runLimitMs = 90_000

/** What the client is told about the one MCP server it gets. */
export interface GuestServer {
  readonly name: string
  readonly endpoint: string
  readonly token: string
}

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface ClientRun {
  readonly pid: number
  /** Everything the client can write to. */
  readonly folder: string
  readonly ended: Promise<Ended>
  /** Ends what still runs and removes the folder. */
  remove(): Promise<void>
}

interface Job {
  readonly program: string
  readonly prompt: string
  readonly modelUrl: string
  readonly server: GuestServer
}

export async function startClaude(
  job: Job & { readonly args?: readonly string[] },
): Promise<ClientRun> {
  const place = await makePlace('claude')
  const config = join(place.folder, 'mcp.json')
  const headers = { Authorization: `Bearer \${${tokenVariable}}` }
  const { name, endpoint } = job.server
  const mcpServers = { [name]: { type: 'http', url: endpoint, headers } }
  await writeFile(config, JSON.stringify({ mcpServers }), { mode: 0o600 })
  const args = [
    ...['-p', job.prompt, '--model', 'claude-opus-5'],
    ...['--mcp-config', config, '--strict-mcp-config', '--allowedTools', `mcp__${name}`],
    ...(job.args ?? []),
  ]
  return place.start(job.program, args, {
    ANTHROPIC_BASE_URL: job.modelUrl,
    ANTHROPIC_API_KEY: 'sk-ant-fake',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    [tokenVariable]: job.server.token,
  })
}

/** `modelName`: Codex hides tools behind its own search for names it knows, and offers them at once for others. */
export async function startCodex(job: Job & { readonly modelName?: string }): Promise<ClientRun> {
  const place = await makePlace('codex')
  const codexHome = join(place.folder, 'home/.codex')
  await mkdir(codexHome)
  const { name, endpoint } = job.server
  const config = `
model = ${JSON.stringify(job.modelName ?? 'fake-model')}
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "${job.modelUrl}/v1"
wire_api = "responses"
env_key = "FAKE_MODEL_KEY"
[mcp_servers.${name}]
url = "${endpoint}"
bearer_token_env_var = "${tokenVariable}"
default_tools_approval_mode = "approve"
required = true
[features]
shell_snapshot = false
`
  await writeFile(join(codexHome, 'config.toml'), config, { mode: 0o600 })
  return place.start(job.program, ['exec', '--skip-git-repo-check', job.prompt], {
    CODEX_HOME: codexHome,
    FAKE_MODEL_KEY: 'sk-fake',
    [tokenVariable]: job.server.token,
  })
}

export type Era = 'legacy' | 'auto' | 'modern'

/** The Inspector takes the token on its command line only; give it a session of its own. */
export async function runInspector(job: {
  readonly program: string
  readonly server: GuestServer
  readonly era: Era
  readonly args: readonly string[]
}): Promise<Ended> {
  const place = await makePlace('inspector')
  const { endpoint, token } = job.server
  const where = [
    '--server-url',
    endpoint,
    '--transport',
    'http',
    '--header',
    `Authorization: Bearer ${token}`,
  ]
  const args = ['--cli', ...where, '--protocol-era', job.era, ...job.args, '--format', 'json']
  const run = place.start(job.program, args, {})
  try {
    return await run.ended
  } finally {
    await run.remove()
  }
}

async function makePlace(client: string) {
  const folder = await mkdtemp(join(tmpdir(), `sallyport-${client}-`))
  // Codex refuses a home below the temporary folder: the client gets another temporary folder than we have.
  const [home, work, temporary] = ['home', 'work', 'tmp'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const path of [home, work, temporary]) await mkdir(path)
  const base = {
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    HOME: home,
    TMPDIR: temporary,
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    NO_COLOR: '1',
  }
  const start = (
    program: string,
    args: readonly string[],
    variables: Record<string, string>,
  ): ClientRun => {
    // Its own process group, so that ending the run ends whatever the client started.
    const child = spawn(program, args, {
      cwd: work,
      env: { ...base, ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    return {
      pid: child.pid as number,
      folder,
      ended: collect(child),
      remove: async () => {
        endGroup(child)
        await rm(folder, { recursive: true, force: true, maxRetries: 5 })
      },
    }
  }
  return { folder, start }
}

async function collect(child: ChildProcess): Promise<Ended> {
  const timer = setTimeout(() => endGroup(child), runLimitMs)
  const closed = new Promise<number | null>((resolve, reject) => {
    child.once('close', resolve)
    child.once('error', reject)
  })
  try {
    const [code, stdout, stderr] = await Promise.all([
      closed,
      text(child.stdout as NodeJS.ReadableStream),
      text(child.stderr as NodeJS.ReadableStream),
    ])
    return { code, stdout, stderr }
  } finally {
    clearTimeout(timer)
    endGroup(child)
  }
}

function endGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch (error) {
    // Gone already is what we want.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
