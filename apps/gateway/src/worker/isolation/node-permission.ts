/** Flags of Node by which the worker's own program is refused whatever it was not given here. */
import { wallFiles } from '@sallyport/protocol/node'
import type { ProgramPlaces } from './program-places.ts'
import { outsideKey, runsProgram, type WorkerNeeds } from './worker-needs.ts'

const dumpFilter = '/proc/self/coredump_filter'

/** Threads, native code and debuggers are not among them. */
export function permissionFlags(
  needs: WorkerNeeds,
  { folders, links }: ProgramPlaces,
): readonly string[] {
  const own = [needs.folder, needs.socketFolder, dumpFilter]
  const key = outsideKey(needs)
  const reads = [
    ...folders,
    ...links.map(({ path }) => path),
    ...own,
    ...(key === undefined ? [] : [key.folder]),
    ...needs.readable,
    ...wallFiles,
    '/etc/hosts',
  ]
  const writes = [...own, ...(key === undefined ? [] : [`${key.file}*`])]
  return [
    '--permission',
    ...[...new Set(reads)].map((path) => `--allow-fs-read=${path}`),
    ...[...new Set(writes)].map((path) => `--allow-fs-write=${path}`),
    ...(runsProgram(needs) ? ['--allow-child-process'] : []),
  ]
}
