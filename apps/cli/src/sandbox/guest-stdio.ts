/** The terminal, or what stands in its place, handed to a guest. */
import { fstatSync } from 'node:fs'
import type { Guest, GuestStdio } from '@sallyport/launcher'
import type { World } from '../world.ts'

/**
 * Node sets pipes to not wait, for everybody who has them: a guest that writes into a full one would fail. So what is a pipe
 * here is a pipe of its own there, and we carry what comes; all else (a terminal, a file) the guest gets itself.
 */
export function guestStdio(): GuestStdio {
  const [stdin, stdout, stderr] = [0, 1, 2].map((fd) => {
    const stats = fstatSync(fd)
    return stats.isFIFO() || stats.isSocket() ? ('pipe' as const) : ('inherit' as const)
  })
  return [stdin ?? 'ignore', stdout ?? 'ignore', stderr ?? 'ignore']
}

/** The function that comes back stops reading; resolves when everything the guest said has been passed on. */
export function carryStdio(
  { stdin, stdout, stderr }: Pick<Guest, 'stdin' | 'stdout' | 'stderr'>,
  world: World,
): () => Promise<void> {
  const writable = (output: World['stdout']) => output as unknown as NodeJS.WritableStream
  if (stdin) world.stdin.pipe(stdin)
  const ends = [
    [stdout, world.stdout],
    [stderr, world.stderr],
  ].map(async ([from, to]) => {
    const source = from as Guest['stdout']
    if (!source) return
    const sink = writable(to as World['stdout'])
    // Nobody reads any more: then the guest hears so too, when it says more.
    sink.on('unpipe', (from) => from === source && source.destroy())
    source.pipe(sink, { end: false })
    await new Promise((resolve) => source.once('close', resolve))
  })
  return async () => {
    if (stdin) world.stdin.unpipe(stdin)
    world.stdin.pause()
    await Promise.all(ends)
  }
}
