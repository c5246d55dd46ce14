/** A gateway starts its worker with an empty environment and without this preload: here it gets both. */
import childProcess from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { CrashEnvironment } from './step-book.ts'

const preload = fileURLToPath(new URL('./preload.ts', import.meta.url))
/** Its source, or what is bundled of it. */
const isWorker = (arg: string): boolean => /\/(?:apps\/worker\/src\/main\.ts|worker\.js)$/.test(arg)

type Spawn = (command: string, args: readonly string[], options: object) => unknown

export function hookWorkerStart({ folder, workerSkewMs = 0 }: CrashEnvironment): void {
  const spawn = childProcess.spawn as Spawn
  const worker: CrashEnvironment = { role: 'worker', folder, skewMs: workerSkewMs }
  const hooked: Spawn = (command, args, options) => {
    if (!args.some(isWorker)) return spawn(command, args, options)
    const env = { SALLYPORT_CRASH: JSON.stringify(worker) }
    return spawn(command, ['--import', preload, ...args], { ...options, env })
  }
  childProcess.spawn = hooked as typeof childProcess.spawn
  syncBuiltinESMExports()
}
