/** Starts the processes of a run. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { LoadJob, LoadResult } from './load.ts'

export interface Started {
  readonly url: string
  readonly pid: number
  stop(): Promise<void>
}

const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** One of the server files beside this one; it says where it listens. */
export async function startServer(name: 'raw-upstream.ts' | 'sdk-upstream.ts'): Promise<Started> {
  // The channel is what ends it when this process ends in whatever way.
  const stdio = ['ignore', 'pipe', 'inherit', 'ipc'] as const
  const child = spawn(process.execPath, [fileOf(name)], { stdio: [...stdio] })
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  const [line] = (await once(lines, 'line')) as [string]
  const { url } = JSON.parse(line) as { url: string }
  return {
    url,
    pid: child.pid as number,
    stop: async () => {
      const gone = once(child, 'exit')
      child.kill()
      await gone
    },
  }
}

/** In a process of its own, so that it disturbs nobody's event loop. */
export async function runLoad(job: LoadJob): Promise<LoadResult> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [fileOf('load.ts'), JSON.stringify(job)],
    { timeout: job.warmMs + job.measureMs + 30_000 },
  )
  return JSON.parse(stdout) as LoadResult
}

/** The gateway as it ships. */
export async function bundleGateway(): Promise<string> {
  const script = fileOf('../../scripts/bundle.ts')
  await promisify(execFile)(process.execPath, [script], { timeout: 120_000 })
  return fileOf('../../dist/gateway.js')
}
