import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ClientRun, type Job, makePlace, tokenVariable } from './client-run.ts'

export async function startGemini(job: Job): Promise<ClientRun> {
  const place = await makePlace('gemini')
  const folder = join(place.home, '.gemini')
  await mkdir(folder)
  await writeFile(join(folder, 'settings.json'), JSON.stringify(settingsOf(job)), { mode: 0o600 })
  const { program, prompt, runLimitMs } = job
  return place.start({
    program,
    // Without a named model a router asks one first which to take.
    args: ['-p', prompt, '-m', 'gemini-2.5-pro'],
    env: {
      GEMINI_API_KEY: 'fake',
      GOOGLE_GEMINI_BASE_URL: job.modelUrl,
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
      [tokenVariable]: job.server.token,
    },
    runLimitMs,
  })
}

/** `trust`: a run without a person has no tools of a server that it would have to ask about. */
function settingsOf({ server, callLimitMs }: Job) {
  return {
    security: { auth: { selectedType: 'gemini-api-key' } },
    general: { enableAutoUpdate: false },
    privacy: { usageStatisticsEnabled: false },
    mcpServers: {
      [server.name]: {
        httpUrl: server.endpoint,
        headers: { Authorization: `Bearer $${tokenVariable}` },
        trust: true,
        ...(callLimitMs === undefined ? {} : { timeout: callLimitMs }),
      },
    },
  }
}
