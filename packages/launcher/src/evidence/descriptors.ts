/** What the descriptors of a process lead to. */
import { readdirSync, type Stats, statSync } from 'node:fs'
import type { DescriptorKind } from '@sallyport/protocol'
import { isMissing } from './proc-file.ts'

export interface SeenDescriptor {
  readonly fd: number
  readonly is: DescriptorKind | 'other'
}

/** By number. */
export function readDescriptors(pid: number): SeenDescriptor[] {
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder)
    .map(Number)
    .sort((a, b) => a - b)
    .flatMap((fd) => {
      const is = kindAt(`${folder}/${fd}`)
      return is === undefined ? [] : [{ fd, is }]
    })
}

/** Undefined when it was closed meanwhile. */
function kindAt(path: string): SeenDescriptor['is'] | undefined {
  try {
    return kindOf(statSync(path))
  } catch (thrown) {
    if (isMissing(thrown)) return undefined
    throw thrown
  }
}

export function kindOf(stats: Stats): SeenDescriptor['is'] {
  if (stats.isFIFO() || stats.isSocket()) return 'pipe'
  if (stats.isFile()) return 'file'
  if (!stats.isCharacterDevice()) return 'other'
  const major = stats.rdev >>> 8
  if (major === 1 && (stats.rdev & 0xff) === 3) return 'null'
  return isTerminal(major) ? 'terminal' : 'other'
}

/** Consoles, /dev/tty and the like, pseudo-terminals. */
function isTerminal(major: number): boolean {
  return major === 4 || major === 5 || (major >= 136 && major <= 143)
}
