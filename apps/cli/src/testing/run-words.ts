/** Runs a command in this process against a scripted API. */
import { randomBytes } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { runCommandLine } from '../command-line.ts'
import type { Environment, Signals, World } from '../world.ts'

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface Setting {
  readonly env: Environment
  readonly stdin?: string
  /** All three are terminals. */
  readonly terminal?: boolean
  /** Of that terminal. */
  readonly columns?: number
  /** Milliseconds since 1970. */
  readonly now?: number
  /** Instead of what is made here. */
  readonly world?: Partial<World>
}

export const noSignals: Signals = { on: () => 0, off: () => 0, raise: () => undefined }

export async function runWords(words: readonly string[], setting: Setting): Promise<Ran> {
  const isTTY = setting.terminal === true
  const [stdin, stdout, stderr] = [0, 1, 2].map(() => Object.assign(new PassThrough(), { isTTY }))
  if (!stdin || !stdout || !stderr) throw new TypeError('three streams')
  stdin.end(setting.stdin ?? '')
  const code = await runCommandLine(words, {
    env: { HOME: '/nowhere', ...setting.env },
    stdin,
    stdout: Object.assign(stdout, setting.columns ? { columns: setting.columns } : {}),
    stderr,
    now: () => setting.now ?? Date.now(),
    random: randomBytes,
    signals: noSignals,
    delay: async () => undefined,
    ...setting.world,
  })
  const read = (stream: PassThrough): string => stream.read()?.toString() ?? ''
  return { code, stdout: read(stdout), stderr: read(stderr) }
}
