/** The files of /proc: small, made by the kernel as they are read, gone with their process. */
import { readFileSync, readlinkSync } from 'node:fs'

export function readProc(path: string): string {
  return readFileSync(path, 'utf8')
}

/** Undefined where this kernel has no such file; everything else throws. */
export function readProcIfThere(path: string): string | undefined {
  try {
    return readProc(path)
  } catch (thrown) {
    if (isMissing(thrown)) return undefined
    throw thrown
  }
}

/** The number in `net:[4026531833]`. */
export function namespaceId(process: number | 'self', kind: string): string {
  const link = readlinkSync(`/proc/${process}/ns/${kind}`)
  const id = /\[(\d+)\]$/.exec(link)?.[1]
  if (id === undefined) throw new Error(`a namespace that is called ${link}`)
  return id
}

export function isMissing(thrown: unknown): boolean {
  const { code } = thrown as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ESRCH'
}
