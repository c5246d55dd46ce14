/** Where an agent program is installed on this machine, which version it is, and how it is started. */
import { execFile } from 'node:child_process'
import {
  accessSync,
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { promisify } from 'node:util'
import { SallyportError } from '@sallyport/protocol'
import { removeFolder } from '@sallyport/protocol/node'
import type { AgentProgram } from './agent-program.ts'

export interface FoundProgram {
  /** With every link followed. */
  readonly path: string
  readonly version: string
  /** A binary, or a script for Node. */
  readonly kind: 'native' | 'node'
}

/**
 * At `given`, or by PATH. Throws `harness_missing` (field: the program), `harness_too_old` (field: what is there and what is
 * needed), and `harness_unusable` for a script that is not Node's: what it leads to would not be in the sandbox.
 */
export async function findProgram(
  agent: Pick<AgentProgram, 'package' | 'program' | 'minimum'>,
  { given, PATH }: { readonly given: string | undefined; readonly PATH: string | undefined },
): Promise<FoundProgram> {
  const path = given === undefined ? inPath(agent.program, PATH ?? '') : executable(given)
  if (path === undefined) throw new SallyportError('harness_missing', { field: agent.program })
  const kind = kindOf(path)
  if (kind === undefined) throw new SallyportError('harness_unusable', { field: agent.program })
  const version = packageVersion(path, agent.package) ?? (await saidVersion(path))
  if (version === undefined) throw new SallyportError('harness_unusable', { field: agent.program })
  if (isOlder(version, agent.minimum)) {
    const field = `${agent.program} ${version}, needed is ${agent.minimum}`
    throw new SallyportError('harness_too_old', { field })
  }
  return { path, version, kind }
}

/** The real path; undefined when there is no file that this user may execute. */
function executable(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile() ? realpathSync(path) : undefined
  } catch {
    return undefined
  }
}

function inPath(program: string, path: string): string | undefined {
  for (const folder of path.split(':').filter(isAbsolute)) {
    const found = executable(join(folder, program))
    if (found !== undefined) return found
  }
  return undefined
}

const elf = Buffer.from([0x7f, 0x45, 0x4c, 0x46])

function kindOf(path: string): FoundProgram['kind'] | undefined {
  const head = Buffer.alloc(128)
  const file = openSync(path, 'r')
  try {
    readSync(file, head)
  } finally {
    closeSync(file)
  }
  if (head.subarray(0, elf.length).equals(elf)) return 'native'
  const [firstLine = ''] = head.toString('latin1').split('\n')
  return /^#!.*\bnode\b/.test(firstLine) ? 'node' : undefined
}

/** Of the package that the file is in. */
function packageVersion(path: string, name: string): string | undefined {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const found = readPackage(join(folder, 'package.json'))
    if (found?.name === name && typeof found.version === 'string') return found.version
  }
  return undefined
}

function readPackage(path: string): { name?: unknown; version?: unknown } | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    // Not there, or not one: the next folder above is asked.
    return undefined
  }
}

const saysWithinMs = 10_000
const homePrefix = 'sallyport-home-'

/** Where no package tells, the program does. It gets nothing of ours, and a home that goes: some write into it even then. */
async function saidVersion(path: string): Promise<string | undefined> {
  let home: string | undefined
  try {
    home = newHome()
    const said = await promisify(execFile)(path, ['--version'], {
      cwd: home,
      env: { PATH: '/usr/bin:/bin', HOME: home },
      timeout: saysWithinMs,
    })
    return /\d+\.\d+\.\d+/.exec(said.stdout)?.[0]
  } catch {
    return undefined
  } finally {
    if (home !== undefined) removeFolder(home)
  }
}

/** TMPDIR may name a folder that is gone. */
function newHome(): string {
  try {
    return mkdtempSync(join(tmpdir(), homePrefix))
  } catch {
    return mkdtempSync(join('/tmp', homePrefix))
  }
}

/** By its numbers: what follows them names a platform as often as a release to come. */
function isOlder(version: string, minimum: string): boolean {
  const found = version.split(/[-+]/, 1)[0]?.split('.').map(Number) ?? []
  for (const [index, needed] of minimum.split('.').map(Number).entries()) {
    const own = found[index] ?? 0
    if (own !== needed) return !(own > needed)
  }
  return false
}
