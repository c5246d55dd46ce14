import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ClientRun, type Job, makePlace, tokenVariable } from './client-run.ts'

/** `modelName`: Codex hides tools behind its own search for names it knows, and offers them at once for others. */
export async function startCodex(job: Job & { readonly modelName?: string }): Promise<ClientRun> {
  const place = await makePlace('codex')
  const codexHome = join(place.home, '.codex')
  await mkdir(codexHome)
  await writeFile(join(codexHome, 'config.toml'), configOf(job), { mode: 0o600 })
  const { program, prompt, runLimitMs } = job
  return place.start({
    program,
    args: ['exec', '--skip-git-repo-check', prompt],
    env: {
      CODEX_HOME: codexHome,
      FAKE_MODEL_KEY: 'sk-fake',
      [tokenVariable]: job.server.token,
    },
    runLimitMs,
  })
}

function configOf({
  modelUrl,
  modelName,
  server,
  callLimitMs,
}: Parameters<typeof startCodex>[0]): string {
  return `
model = ${JSON.stringify(modelName ?? 'fake-model')}
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "${modelUrl}/v1"
wire_api = "responses"
env_key = "FAKE_MODEL_KEY"
[mcp_servers.${server.name}]
url = "${server.endpoint}"
bearer_token_env_var = "${tokenVariable}"
default_tools_approval_mode = "approve"
required = true
${callLimitMs === undefined ? '' : `tool_timeout_sec = ${callLimitMs / 1000}`}
[features]
shell_snapshot = false
`
}
