import { X509Certificate } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type Check, fine, problem, warning } from './finding.ts'

const day = 86_400_000
const soon = 7 * day

/** The certificates between gateway and worker. `now` is milliseconds since 1970. */
export async function checkCertificates(folder: string, now: number): Promise<Check[]> {
  const found = await Promise.all(
    ['gateway', 'worker'].map(async (side) => {
      const files = await certificateFiles(join(folder, side))
      return Promise.all(
        files.map((path) => checkCertificate(`certificate:${side}/${basename(path)}`, path, now)),
      )
    }),
  )
  return found.flat()
}

async function certificateFiles(folder: string): Promise<string[]> {
  try {
    const names = await readdir(folder)
    return names
      .filter((name) => name.endsWith('.pem'))
      .sort()
      .map((name) => join(folder, name))
  } catch {
    return []
  }
}

async function checkCertificate(id: string, path: string, now: number): Promise<Check> {
  const renew = 'Restart "sallyport up": it makes a new one.'
  let ends: number
  try {
    ends = new X509Certificate(await readFile(path)).validToDate.getTime()
  } catch {
    const next = `Remove ${path} and start "sallyport up" again: it makes a new one.`
    return problem(id, `${path} cannot be read as a certificate.`, next)
  }
  const until = new Date(ends).toISOString()
  if (ends <= now) return problem(id, `${path} expired at ${until}.`, renew)
  if (ends - now < soon) return warning(id, `${path} expires at ${until}.`, renew)
  return fine(id, `${path} is valid until ${until}.`)
}
