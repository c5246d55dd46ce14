/** Which folders of the host a guest may see. */
import { realpathSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { SallyportError } from '@sallyport/protocol'

/**
 * The real path of what a guest is to see. Throws `file_unreadable` when it is not there, `workspace_refused` when it
 * contains, is, or lies in `dataFolder`: administrator's token, sealed credentials and journal are in there. Compared by
 * what the folders are and not by how they are called, so that links and bind mounts change nothing.
 */
export function admitPath(path: string, dataFolder: string, field: string): string {
  const real = realOf(path, field)
  const data = existingPart(resolve(dataFolder))
  // A data folder that is not there yet is made in its parent, which the guest may see, but not below itself.
  const isThere = data === realOr(dataFolder)
  const isBelow = isThere && ancestors(real).some((one) => identity(one) === identity(data))
  if (holds(real, dataFolder) || isBelow) throw new SallyportError('workspace_refused', { field })
  return real
}

/** As `admitPath`, and it must be a folder. */
export function admitFolder(path: string, dataFolder: string, field: string): string {
  const real = admitPath(path, dataFolder, field)
  if (!statSync(real).isDirectory()) throw new SallyportError('file_unreadable', { field })
  return real
}

/** Whether who sees that folder sees that path too, or will when it is made. */
export function holds(folder: string, path: string): boolean {
  const mine = identity(folder)
  return ancestors(existingPart(resolve(path))).some((one) => identity(one) === mine)
}

function realOf(path: string, field: string): string {
  try {
    return realpathSync(path)
  } catch (cause) {
    throw new SallyportError('file_unreadable', { field, cause })
  }
}

function realOr(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

/** The real path of the nearest folder above that exists. */
function existingPart(path: string): string {
  const real = realOr(path)
  return real ?? existingPart(dirname(path))
}

function ancestors(path: string): string[] {
  const above = dirname(path)
  return above === path ? [path] : [path, ...ancestors(above)]
}

function identity(path: string): string {
  const { dev, ino } = statSync(path, { bigint: true })
  return `${dev}:${ino}`
}
