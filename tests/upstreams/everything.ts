/** The reference server `@modelcontextprotocol/server-everything` (legacy era) over streamable HTTP, as a child process. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

export interface EverythingServer {
  readonly url: string
  readonly pid: number
  close(): Promise<void>
}

/** Resolves once it listens on a free loopback port. */
export async function startEverything(): Promise<EverythingServer> {
  const require = createRequire(import.meta.url)
  const folder = dirname(require.resolve('@modelcontextprotocol/server-everything/package.json'))
  const preload = join(import.meta.dirname, 'loopback-only.ts')
  const script = join(folder, 'dist', 'index.js')
  const child = spawn(process.execPath, ['--import', preload, script, 'streamableHttp'], {
    env: {},
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const exited = once(child, 'exit')
  const ended = exited.then(() => {
    throw new Error('server-everything ended before it listened')
  })
  const [message] = (await Promise.race([once(child, 'message'), ended])) as [{ port: number }]
  return {
    url: `http://127.0.0.1:${message.port}/mcp`,
    pid: child.pid as number,
    close: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}
