/** The folder between a guest and its gateway: the session's socket is made in it. One for each run, of its user alone. */
import { randomBytes } from 'node:crypto'
import {
  accessSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { type BornProcess, bornProcess, SallyportError } from '@sallyport/protocol'
import { removeFolder } from '@sallyport/protocol/node'
import { fateOf } from '../process/fate.ts'

const prefix = 'sallyport-run-'
/** Beside the folder, not in it: the guest sees what is inside. */
const noteOf = (folder: string): string => `${folder}.json`

export interface Channel {
  readonly folder: string
  /** For the guest to read. */
  put(file: { readonly name: string; readonly text: string }): void
  /** The guest that has it, so that the folder of a launcher that was killed can be removed once its guest is gone too. */
  note(guest: BornProcess): void
  /** Only once the guest is gone. */
  remove(): void
}

/** What the address of a Unix socket holds, without the zero at its end. */
const longestAddress = 107
const longestName = 'proxy.sock'

/**
 * The first folder that is there, that this user can write into, and that is short enough for the addresses of sockets. Throws
 * `file_not_written` when there is none.
 */
export function runtimeFolder(environment: Readonly<Record<string, string | undefined>>): string {
  const found = [environment['XDG_RUNTIME_DIR'] ?? '', tmpdir(), '/tmp'].find(isUsable)
  if (found === undefined)
    throw new SallyportError('file_not_written', { field: 'XDG_RUNTIME_DIR' })
  return found
}

function isUsable(base: string): boolean {
  const address = join(newChannelFolder(base), longestName)
  if (!isAbsolute(base) || Buffer.byteLength(address) > longestAddress || !isFolder(base))
    return false
  try {
    accessSync(base, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** A name that nobody else will take, for whoever has to know it before the folder is made. */
export const newChannelFolder = (base: string): string =>
  join(base, `${prefix}${randomBytes(6).toString('hex')}`)

/** `folder`: one that was named before, in `base`. Throws `file_not_written`. */
export function makeChannel(
  base: string,
  launcher: BornProcess,
  folder = newChannelFolder(base),
): Channel {
  sweepChannels(base)
  makeFolder(folder)
  const note = (processes: readonly BornProcess[]): void =>
    writeFileSync(noteOf(folder), JSON.stringify(processes), { mode: 0o600 })
  note([launcher])
  return {
    folder,
    put: ({ name, text }) => writeFileSync(join(folder, name), text, { mode: 0o400 }),
    note: (guest) => note([launcher, guest]),
    remove: () => remove(folder),
  }
}

/** Throws `file_not_written`. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (cause) {
    throw new SallyportError('file_not_written', { field: folder, cause })
  }
}

/** Removes what launchers left that were killed, where they and their guests are proved gone. */
function sweepChannels(base: string): void {
  for (const name of readdirSync(base)) {
    if (!name.startsWith(prefix) || !name.endsWith('.json')) continue
    try {
      const processes = bornProcess
        .array()
        .parse(JSON.parse(readFileSync(join(base, name), 'utf8')))
      if (processes.every((one) => fateOf(one) === 'gone'))
        remove(join(base, name.slice(0, -'.json'.length)))
    } catch {
      // Another user's, or one that is being made or removed right now.
    }
  }
}

/** What is still there keeps its note, by which the next run removes it. */
function remove(folder: string): void {
  if (removeFolder(folder)) rmSync(noteOf(folder), { force: true })
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
