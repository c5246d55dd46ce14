/** How an agent program that is installed on the machine comes to be in a guest, and the words that start it there. */
import { basename, join, sep } from 'node:path'
import type { GuestMount } from '../sandbox.ts'
import type { FoundProgram } from './find-program.ts'
import { inside } from './guest-shim.ts'
import type { ShimPlace } from './harness-adapter.ts'

const place = '/opt/harness'

export interface PlacedProgram {
  readonly command: readonly string[]
  readonly mounts: readonly GuestMount[]
}

export function placeProgram({ path, kind }: FoundProgram): PlacedProgram {
  const { at, mounts } = placed(path)
  return { command: kind === 'node' ? [inside.node, at] : [at], mounts }
}

/** Without walls everything is where it is. */
export function whereItIs({ path, kind }: FoundProgram, { node }: ShimPlace): PlacedProgram {
  return { command: kind === 'node' ? [node, path] : [path], mounts: [] }
}

/** What is in /usr every guest sees. A package needs those beside it; a single file needs nobody. */
function placed(path: string): { readonly at: string; readonly mounts: readonly GuestMount[] } {
  if (path.startsWith('/usr/')) return { at: path, mounts: [] }
  const modules = `${sep}node_modules${sep}`
  const start = path.indexOf(modules)
  if (start < 0) {
    const at = join(place, basename(path))
    return { at, mounts: [{ from: path, at }] }
  }
  const from = path.slice(0, start + modules.length - 1)
  const at = join(place, 'node_modules')
  return { at: join(at, path.slice(from.length)), mounts: [{ from, at }] }
}
