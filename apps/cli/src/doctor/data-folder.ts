import { mkdtemp, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Check, fine, problem, warning } from './finding.ts'

const id = 'data-folder'
const chooseAnother = 'Make it writable, or choose another with SALLYPORT_DATA or "up --data DIR".'

/** Tries it out: permissions alone do not tell (read-only mounts, full disks, root). Leaves nothing behind. */
export async function checkDataFolder(folder: string): Promise<Check> {
  const kind = await kindOf(folder)
  if (kind === 'file') return problem(id, `${folder} is not a folder.`, chooseAnother)
  if (kind === 'folder')
    return (await canWrite(folder))
      ? fine(id, folder)
      : problem(id, `${folder} cannot be written.`, chooseAnother)
  const parent = await nearestFolder(dirname(folder))
  return parent !== undefined && (await canWrite(parent))
    ? warning(id, `${folder} does not exist yet.`, '"sallyport up" makes it.')
    : problem(id, `${folder} does not exist and cannot be made.`, chooseAnother)
}

async function kindOf(path: string): Promise<'folder' | 'file' | 'none'> {
  try {
    return (await stat(path)).isDirectory() ? 'folder' : 'file'
  } catch {
    return 'none'
  }
}

/** The folder that `mkdir -p` would begin in; undefined when a file stands in the way. */
async function nearestFolder(path: string): Promise<string | undefined> {
  const kind = await kindOf(path)
  if (kind === 'folder') return path
  const above = dirname(path)
  return kind === 'file' || above === path ? undefined : nearestFolder(above)
}

async function canWrite(folder: string): Promise<boolean> {
  try {
    await rmdir(await mkdtemp(join(folder, '.doctor-')))
    return true
  } catch {
    return false
  }
}
