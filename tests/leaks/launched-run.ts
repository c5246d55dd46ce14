/** `sallyport run` as a process of its own, looked at with all that it started, while a call of its guest is held. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { processTree } from '../clients/procscan.ts'
import { type Ended, startCommand } from '../system/commands.ts'
import { eventually } from '../system/eventually.ts'
import { LeakScan, neighboursOf } from './leak-scan.ts'
import type { LeakWorld } from './leak-world.ts'

export interface LaunchedRun {
  readonly ended: Ended
  /** What was found, and where: each once. */
  readonly found: readonly string[]
  readonly scan: LeakScan
}

export interface Launched {
  /** Plain JavaScript for the guest's Node. */
  readonly program: string
  /** Of the launcher. */
  readonly env?: Readonly<Record<string, string>>
}

/** With the key of the model in a file, or in the variable that `env` says. */
export async function launchedRun(
  world: LeakWorld,
  { program, env = {} }: Launched,
): Promise<LaunchedRun> {
  const folder = mkdtempSync(join(world.root, 'launched-'))
  const keyFile = join(folder, 'key')
  writeFileSync(keyFile, world.modelKey, { mode: 0o600 })
  const key = Object.keys(env).length > 0 ? [] : ['--model-key-file', keyFile]
  const model = ['--model-provider', 'anthropic', '--model-url', world.model.url, ...key]
  const guest = ['/opt/sallyport/node', '-e', program]
  const workspace = mkdtempSync(join(world.root, 'workspace-'))
  const place = ['--profile', 'leaks', '--workspace', workspace]
  const { reached, release } = world.hold()
  const command = startCommand(['run', ...place, ...model, '--', ...guest], {
    dataDir: world.sallyport.dataDir,
    home: folder,
    env: { XDG_RUNTIME_DIR: join(world.root, 'r'), ...env },
  })
  const scan = new LeakScan(world.known())
  try {
    await Promise.race([reached, command.ended.then(neverCalled)])
    await lookAtAll(scan, command.pid)
  } finally {
    release()
  }
  const ended = await command.ended
  scan.look('output', 'run', `${ended.stdout}\n${ended.stderr}`)
  const found = scan.leaks().map(({ place: where, secret }) => `${where}: ${secret}`)
  return { ended, scan, found: [...new Set(found)] }
}

function neverCalled({ code, stderr }: Ended): never {
  throw new Error(`no call came: ${code}\n${stderr}`)
}

/** What is in the pid namespace of this process is the launcher and its helpers; all else is in a guest. */
async function lookAtAll(scan: LeakScan, launcher: number): Promise<void> {
  const tree = await eventually(
    async () => processTree(launcher),
    (found) => found.length > 2,
  )
  const outside = new Set(neighboursOf(process.pid))
  for (const pid of tree)
    await (outside.has(pid) ? scan.lookAtLauncher(pid) : scan.lookAtGuest(pid))
}
