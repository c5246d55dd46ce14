import type { SeenMount } from './evidence.ts'
import type { Mismatch } from './mismatch.ts'
import type { PlannedMount } from './plan.ts'

/** Each planned mount is there once, as planned, and nothing else is. */
export function compareMounts(
  planned: readonly PlannedMount[],
  seen: readonly SeenMount[],
): readonly Mismatch[] {
  const wanted = new Map(planned.map((mount) => [mount.at, mount]))
  const extra = seen.filter(({ at }) => !wanted.has(at)).map(({ at }) => at)
  return [
    ...extra.map((at) => ({ what: 'mount', expected: `nothing at ${at}`, found: 'a mount' })),
    ...planned.flatMap((mount) =>
      compareMount(
        mount,
        seen.filter(({ at }) => at === mount.at),
      ),
    ),
  ]
}

function compareMount(planned: PlannedMount, found: readonly SeenMount[]): readonly Mismatch[] {
  const [mount] = found
  if (mount === undefined)
    return planned.optional ? [] : [mismatch(planned, 'a mount', 'nothing there')]
  if (found.length > 1) return [mismatch(planned, 'one mount', `${found.length} of them`)]
  return wrongIn(planned, mount).map(([expected, seen]) => mismatch(planned, expected, seen))
}

function wrongIn(planned: PlannedMount, { type, root, device, options, sizeKiB }: SeenMount) {
  const isWritable = options.includes('rw')
  const facts: [boolean, string, string][] = [
    [planned.type === null || planned.type === type, `${planned.type}`, type],
    [planned.root === null || planned.root === root, `from ${planned.root}`, `from ${root}`],
    [planned.device === null || planned.device === device, `of ${planned.device}`, `of ${device}`],
    [
      planned.writable === null || planned.writable === isWritable,
      planned.writable ? 'writable' : 'read-only',
      isWritable ? 'writable' : 'read-only',
    ],
    [planned.devices || options.includes('nodev'), 'without devices', 'with devices'],
    [options.includes('nosuid'), 'nosuid', 'setuid programs work'],
    [
      planned.sizeKiB === null || planned.sizeKiB === sizeKiB,
      `${planned.sizeKiB} KiB`,
      `${sizeKiB} KiB`,
    ],
  ]
  return facts.filter(([fits]) => !fits).map(([, expected, found]) => [expected, found] as const)
}

function mismatch({ at }: PlannedMount, expected: string, found: string): Mismatch {
  return { what: 'mount', expected: `${at}: ${expected}`, found }
}
