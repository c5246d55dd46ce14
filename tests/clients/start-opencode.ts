import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ClientRun, type Job, makePlace, tokenVariable } from './client-run.ts'

const modelKey = 'FAKE_MODEL_KEY'

export async function startOpencode(job: Job): Promise<ClientRun> {
  const place = await makePlace('opencode')
  await writeFile(join(place.work, 'opencode.json'), JSON.stringify(configOf(job)), { mode: 0o600 })
  const { program, prompt, runLimitMs } = job
  return place.start({
    program,
    args: ['run'],
    // A prompt with blanks among the arguments would reach the model quoted and escaped.
    stdin: prompt,
    env: {
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      // It installs its plugin package into each configuration folder, in the background, and goes on without.
      npm_config_registry: 'http://127.0.0.1:9',
      npm_config_fetch_retries: '0',
      [modelKey]: 'sk-fake',
      [tokenVariable]: job.server.token,
    },
    runLimitMs,
  })
}

/** The provider's package is named so that OpenCode takes the copy that it was built with. */
function configOf({ modelUrl, server, callLimitMs }: Job) {
  return {
    model: 'fake/fake-model',
    small_model: 'fake/fake-model',
    autoupdate: false,
    share: 'disabled',
    provider: {
      fake: {
        npm: '@ai-sdk/openai-compatible',
        options: { baseURL: `${modelUrl}/v1`, apiKey: `{env:${modelKey}}` },
        models: { 'fake-model': { tool_call: true, limit: { context: 100_000, output: 8_000 } } },
      },
    },
    mcp: {
      [server.name]: {
        type: 'remote',
        url: server.endpoint,
        enabled: true,
        oauth: false,
        headers: { Authorization: `Bearer {env:${tokenVariable}}` },
        ...(callLimitMs === undefined ? {} : { timeout: callLimitMs }),
      },
    },
  }
}
