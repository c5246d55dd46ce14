/** Where paths of the host are, as the kernel counts: file system, and place in it. */
import type { SeenMount } from '@sallyport/protocol'
import { parseMountInfo } from '../evidence/mount-info.ts'
import { readProc } from '../evidence/proc-file.ts'

export interface HostMounts {
  /** What a bind of this real path shows as its device and root. */
  locate(path: string): Pick<SeenMount, 'device' | 'root'>
  /** What is mounted below a real path, and so comes along with a bind of it: places relative to it. */
  below(path: string): readonly (Pick<SeenMount, 'device' | 'root'> & { readonly rest: string })[]
}

export function readHostMounts(): HostMounts {
  return hostMounts(parseMountInfo(readProc('/proc/self/mountinfo')))
}

export function hostMounts(all: readonly SeenMount[]): HostMounts {
  return {
    locate: (path) => {
      const mount = longest(all.filter(({ at }) => isBelow(path, at)))
      if (!mount) throw new Error(`no mount for ${path}`)
      const rest = mount.at === '/' ? path : path.slice(mount.at.length)
      return { device: mount.device, root: join(mount.root, rest) }
    },
    below: (path) =>
      visible(all.filter(({ at }) => at !== path && isBelow(at, path))).map(
        ({ at, device, root }) => ({
          rest: at.slice(path === '/' ? 0 : path.length),
          device,
          root,
        }),
      ),
  }
}

const isBelow = (path: string, folder: string): boolean =>
  folder === '/' || path === folder || path.startsWith(`${folder}/`)

/** Of several at the same place the last covers the others. */
function longest(mounts: readonly SeenMount[]): SeenMount | undefined {
  return mounts.reduce<SeenMount | undefined>(
    (best, mount) => (best && best.at.length > mount.at.length ? best : mount),
    undefined,
  )
}

function visible(mounts: readonly SeenMount[]): SeenMount[] {
  return [...new Map(mounts.map((mount) => [mount.at, mount])).values()]
}

function join(root: string, rest: string): string {
  if (rest === '' || rest === '/') return root
  return root === '/' ? rest : `${root}${rest}`
}
