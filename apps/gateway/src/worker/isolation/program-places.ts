/**
 * Where the worker's program lies: folders by their real paths, and the links by which they are found. Packages may be
 * linked from elsewhere (a checkout beside another one, a package manager with one store for all).
 */
import { existsSync, lstatSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve, sep } from 'node:path'

export interface ProgramPlaces {
  readonly folders: readonly string[]
  /** Outside of these folders. */
  readonly links: readonly ProgramLink[]
}

export interface ProgramLink {
  readonly path: string
  /** Absolute. */
  readonly to: string
}

/** A bundle is whole in its own folder; sources need the packages that they name, and what these need. */
export function programPlaces(entry: string): ProgramPlaces {
  const [, root] = /^(.*\/apps\/worker)\/src\/[^/]+$/.exec(entry) ?? []
  if (root === undefined) return { folders: [dirname(entry)], links: [] }
  const found = new Found()
  const seen = new Set([root])
  found.add(root)
  for (const folder of seen)
    for (const name of dependenciesOf(folder)) {
      const path = resolvePackage(folder, name)
      if (path === undefined) continue
      // The whole folder that it is found in: packages use some that they do not name.
      found.add(path.slice(0, -name.length - 1))
      found.add(path)
      seen.add(realpathSync(path))
    }
  return found.places()
}

class Found {
  readonly #folders = new Set<string>()
  readonly #links = new Map<string, string>()

  add(path: string): void {
    for (const { path: at, to } of linksOn(path)) this.#links.set(at, to)
    this.#folders.add(realpathSync(path))
  }

  places(): ProgramPlaces {
    const all = [...this.#folders]
    const folders = all.filter((one) => !all.some((other) => other !== one && isIn(one, other)))
    const links = [...this.#links]
      .map(([path, to]) => ({ path, to }))
      .filter(({ path }) => !folders.some((folder) => isIn(path, folder)))
    return { folders, links }
  }
}

const isIn = (path: string, folder: string): boolean => path.startsWith(`${folder}${sep}`)

function dependenciesOf(folder: string): string[] {
  try {
    const found = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const { dependencies, optionalDependencies, peerDependencies } = found
    return Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })
  } catch {
    // No package, or none that can be read: then Node finds no more in it either.
    return []
  }
}

/** As Node looks for it: from the folder upwards. Undefined for one that is not installed. */
function resolvePackage(from: string, name: string): string | undefined {
  const above = dirname(from)
  const path = join(from, 'node_modules', name)
  if (existsSync(path)) return path
  return above === from ? undefined : resolvePackage(above, name)
}

/** Each link on the way to where a path really is. */
function linksOn(path: string): ProgramLink[] {
  const links: ProgramLink[] = []
  let at: string = sep
  let left = path.split(sep).filter((part) => part !== '')
  // More would be a circle, which the kernel does not follow either.
  while (left.length > 0 && links.length < 40) {
    const [part = '', ...rest] = left
    const next = join(at, part)
    if (lstatSync(next).isSymbolicLink()) {
      const target = readlinkSync(next)
      const to = isAbsolute(target) ? target : resolve(at, target)
      links.push({ path: next, to })
      left = [...to.split(sep).filter((one) => one !== ''), ...rest]
      at = sep
    } else {
      left = rest
      at = next
    }
  }
  return links
}
