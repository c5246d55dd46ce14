/**
 * For tests: a copy of the programs in which the worker, beside its work, tries what it is told. Everything else is as it
 * is, so what is denied there is denied to the real one.
 */
import {
  cpSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { eventually } from '../system/eventually.ts'
import type { Attempt, Tried } from './inside/attempts.ts'

export interface Found {
  readonly tried: readonly Tried[]
  readonly uid: number
  readonly environment: readonly string[]
}

const repository = fileURLToPath(new URL('../..', import.meta.url))
const inside = fileURLToPath(new URL('inside', import.meta.url))

/** The copy's gateway. Whoever asks removes the folder. */
function copyPrograms(root: string): string {
  for (const part of ['apps/gateway', 'apps/worker', 'packages'])
    cpSync(join(repository, part), join(root, part), { recursive: true })
  symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'))
  const sources = join(root, 'apps/worker/src')
  renameSync(join(sources, 'main.ts'), join(sources, 'own-main.ts'))
  cpSync(join(inside, 'attempts.ts'), join(sources, 'attempts.ts'))
  cpSync(join(inside, 'worker-main.ts'), join(sources, 'main.ts'))
  return join(root, 'apps/gateway/src/main.ts')
}

export class ProbedSallyport {
  readonly sallyport: Sallyport
  /** Of the programs. */
  readonly root: string

  private constructor(sallyport: Sallyport, root: string) {
    this.sallyport = sallyport
    this.root = root
  }

  static async start(args: readonly string[]): Promise<ProbedSallyport> {
    const root = mkdtempSync(join(tmpdir(), 'sallyport-probed-'))
    try {
      const program = copyPrograms(root)
      return new ProbedSallyport(await startSallyport({ program, args }), root)
    } catch (thrown) {
      rmSync(root, { recursive: true })
      throw thrown
    }
  }

  async tryInside(attempts: readonly Attempt[]): Promise<Found> {
    const folder = join(this.sallyport.dataDir, 'worker')
    const answer = join(folder, 'tried.json')
    rmSync(answer, { force: true })
    // For everybody: it may be read by the user whom the worker is.
    writeFileSync(join(folder, 'attempts.json'), JSON.stringify(attempts), { mode: 0o644 })
    process.kill(this.sallyport.workerPid() as number, 'SIGUSR2')
    const read = async (): Promise<Found | undefined> => {
      try {
        return JSON.parse(readFileSync(answer, 'utf8'))
      } catch {
        // Not there yet, or half of it.
        return undefined
      }
    }
    return (await eventually(read, (found) => found !== undefined)) as Found
  }

  async remove(): Promise<void> {
    await this.sallyport.remove()
    rmSync(this.root, { recursive: true })
  }
}
