import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ClientRun, type Job, makePlace, tokenVariable } from './client-run.ts'

const modelKey = 'FAKE_MODEL_KEY'

export async function startPi(job: Job): Promise<ClientRun> {
  const place = await makePlace('pi')
  const folder = join(place.home, '.pi/agent')
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'models.json'), JSON.stringify(modelsOf(job)), { mode: 0o600 })
  await writeFile(join(folder, 'mcp.json'), JSON.stringify(serversOf(job)), { mode: 0o600 })
  const { program, prompt, runLimitMs } = job
  return place.start({
    program,
    args: ['-p', prompt, '--provider', 'fake', '--model', 'fake-model', '--no-session'],
    env: {
      PI_OFFLINE: '1',
      [modelKey]: 'sk-fake',
      [tokenVariable]: job.server.token,
    },
    runLimitMs,
  })
}

function modelsOf({ modelUrl }: Job) {
  const models = [{ id: 'fake-model', contextWindow: 100_000, maxTokens: 8_000 }]
  const api = 'openai-completions'
  return {
    providers: { fake: { baseUrl: `${modelUrl}/v1`, api, apiKey: `$${modelKey}`, models } },
  }
}

/** `direct`: else the model would write programs that call the tools. */
function serversOf({ server, callLimitMs }: Job) {
  const headers = { Authorization: `Bearer \${${tokenVariable}}` }
  const limit = callLimitMs === undefined ? {} : { timeout: callLimitMs / 1000 }
  const entry = { url: server.endpoint, headers, exposure: 'direct', ...limit }
  return { mcpServers: { [server.name]: entry } }
}
