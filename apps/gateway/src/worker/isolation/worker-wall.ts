/** What is put around one data folder's worker, and why not more. */
import { accessSync, closeSync, constants, openSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { SallyportError } from '@sallyport/protocol'
import {
  type Hello,
  type IsolationLayer,
  isolationLayers,
  judgeWalls,
  readProcessWalls,
} from '@sallyport/protocol/node'
import { ownArchitecture } from '@sallyport/protocol/seccomp'
import type { Clock } from '../clock.ts'
import { bubblewrapArguments } from './bubblewrap-arguments.ts'
import type { IsolationMode } from './isolation-mode.ts'
import type { Launch } from './launch.ts'
import { NameFiles } from './name-files.ts'
import { permissionFlags } from './node-permission.ts'
import { programPlaces } from './program-places.ts'
import { tryProgram } from './try-program.ts'
import { workerFilter } from './worker-filter.ts'
import {
  isForEverybody,
  type OutsideKey,
  outsideKey,
  runsProgram,
  type WorkerNeeds,
} from './worker-needs.ts'
import { chooseWorkerUser, giveFolder, type WorkerUser } from './worker-user.ts'

export interface WorkerWallOptions {
  readonly mode: IsolationMode
  readonly needs: WorkerNeeds
  /** A folder of the gateway for what the worker sees of it. */
  readonly namesFolder: string
  readonly clock: Clock
}

export class WorkerWall {
  readonly mode: IsolationMode
  /** Undefined: whoever runs this is, or the worker has to stay, who it is. */
  #user: WorkerUser | undefined
  readonly #options: WorkerWallOptions
  readonly #names: NameFiles
  #because: string[] = []
  #isWithout = false

  constructor(options: WorkerWallOptions) {
    this.mode = options.mode
    this.#options = options
    this.#names = new NameFiles(options.namesFolder, options.clock)
    this.#user = this.#chooseUser()
  }

  /** Why there is not more, a sentence each; of what was found out up to now. */
  get because(): readonly string[] {
    return this.#because
  }

  /** A folder for the worker to write may belong to this one. */
  get owner(): number | undefined {
    return this.#user?.uid
  }

  /** Called before each start, when the folders are there. */
  prepare(): Launch {
    const { needs, mode } = this.#options
    if (mode === 'none') return { around: undefined, nodeFlags: [], moreFlags: [] }
    const places = programPlaces(needs.entry)
    const nodeFlags = permissionFlags(needs, places)
    const program = this.#isWithout ? undefined : this.#findBubblewrap()
    if (program === undefined) return { around: undefined, nodeFlags, moreFlags: [] }
    placeKey(outsideKey(needs))
    this.#names.start()
    this.#giveFolders()
    const user = this.#user
    const words = bubblewrapArguments({
      needs,
      program: places,
      node: process.execPath,
      libraries: ownLibraries(),
      names: this.#names.folder,
      isRoot: isRoot(),
      user,
    })
    const moreFlags = user ? ['--run-as', `${user.uid}:${user.gid}`] : []
    return { around: { program, words, filter: this.#filter() }, nodeFlags, moreFlags }
  }

  /**
   * After a start that failed without a word of the worker: was it the wall? Then the next launch goes without it. Throws
   * `worker_not_isolated` where that may not be, `worker_down` where it cannot be found out now.
   */
  async isToBlame(launch: Launch): Promise<boolean> {
    if (!launch.around) return false
    const { needs, clock } = this.#options
    const complaint = await tryProgram(launch, needs.entry, clock)
    if (complaint === undefined) return false
    const [said = ''] = complaint.split('\n')
    if (!said.startsWith('bwrap:')) {
      const bare = { ...launch, around: undefined }
      if ((await tryProgram(bare, needs.entry, clock)) !== undefined) return false
    }
    this.#lack(
      said.startsWith('bwrap:') || said === ''
        ? `bubblewrap makes no sandbox here: ${said || 'it does not end in time'}.`
        : `The worker does not start in a sandbox here: ${errorIn(complaint)}.`,
    )
    this.#isWithout = true
    return true
  }

  /** Judges by what the worker finds. Throws `worker_not_isolated` when that is less than required. */
  accept(hello: Hello): void {
    const missing = missingLayers(this.mode, hello)
    if (missing.length > 0) throw this.#refusal(`not on: ${missing.join(', ')}`)
  }

  stop(): void {
    this.#names.stop()
  }

  #chooseUser(): WorkerUser | undefined {
    const { needs, mode } = this.#options
    if (mode === 'none') return undefined
    const key = outsideKey(needs)
    if (key && !key.isAlone)
      this.#because.push(`Vault keys cannot be rotated: other files lie beside ${key.file}.`)
    if (!isRoot()) return undefined
    if (runsProgram(needs)) {
      this.#because.push(
        'The program that gives the vault key runs as who started Sallyport: root.',
      )
      return undefined
    }
    const closed = key?.file ?? needs.readable.find((path) => !isForEverybody(path))
    const user = chooseWorkerUser(needs.dataDir)
    if (!user) this.#because.push('There is no user here but root.')
    if (closed === undefined) return user
    this.#because.push(`${closed} is for root alone; start Sallyport as an ordinary user.`)
    return undefined
  }

  #giveFolders(): void {
    const { needs } = this.#options
    const user = this.#user
    if (!user) return
    try {
      for (const folder of new Set([needs.folder, needs.socketFolder])) giveFolder(folder, user)
    } catch (thrown) {
      this.#user = undefined
      const { code } = thrown as NodeJS.ErrnoException
      this.#because.push(`The folder of the worker cannot be given to a user of its own (${code}).`)
    }
  }

  #filter(): Uint8Array | undefined {
    const architecture = ownArchitecture()
    if (architecture)
      return workerFilter(architecture, { runsProgram: runsProgram(this.#options.needs) })
    this.#lack(`There is no system call filter for ${process.arch}.`)
    return undefined
  }

  #findBubblewrap(): string | undefined {
    if (process.platform !== 'linux') {
      this.#lack('The worker gets files of its own only on Linux.')
      return undefined
    }
    const folders = (process.env['PATH'] ?? '').split(':').filter((folder) => isAbsolute(folder))
    const found = [...folders, '/usr/bin'].map((folder) => join(folder, 'bwrap')).find(isExecutable)
    if (found === undefined)
      this.#lack('bubblewrap is not installed ("apt-get install bubblewrap").')
    return found
  }

  /** Throws `worker_not_isolated` where it may not be. */
  #lack(because: string): void {
    if (!this.#because.includes(because)) this.#because.push(because)
    if (this.mode === 'require') throw this.#refusal(because)
  }

  #refusal(what: string): SallyportError {
    const cause = new Error([what, ...this.#because].join(' '))
    return new SallyportError('worker_not_isolated', { cause })
  }
}

/** Of those that this mode asks for, by what the worker finds. */
export function missingLayers(mode: IsolationMode, { walls }: Hello): readonly IsolationLayer[] {
  if (mode !== 'require') return []
  const layers = walls && judgeWalls(walls, readProcessWalls())
  return isolationLayers.filter((layer) => layers?.[layer] !== 'on')
}

/** Node says where it was before it says what it met. */
function errorIn(complaint: string): string {
  const lines = complaint.split('\n')
  return (lines.find((line) => /^\w*Error\b/.test(line)) ?? lines[0] ?? '').slice(0, 300)
}

/** A worker makes a first key where it may write; among other files it finds an empty one to write it to. */
function placeKey(key: OutsideKey | undefined): void {
  if (!key || key.isAlone || key.present.includes(key.file)) return
  try {
    closeSync(openSync(key.file, 'a', 0o600))
  } catch {
    // Not ours to make: the worker says what is missing.
  }
}

const isRoot = (): boolean => process.getuid?.() === 0

/** Those of this process: the worker's is started from the same file. */
function ownLibraries(): readonly string[] {
  const report = process.report.getReport() as { readonly sharedObjects?: readonly string[] }
  return (report.sharedObjects ?? []).filter((path) => isAbsolute(path) && !path.endsWith('.node'))
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
