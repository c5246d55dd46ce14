/** Sandboxes of Linux namespaces, made by bubblewrap from arguments and a filter of our own. */
import { SallyportError } from '@sallyport/protocol'
import { ownArchitecture } from '@sallyport/protocol/seccomp'
import { processesIn, readNamespaces } from '../evidence/namespaces.ts'
import { HeldGuest } from '../guest/held-guest.ts'
import { guestPlaces } from '../guest/places.ts'
import { abandon, type HeldGate, spawnGate } from '../guest/spawn-gate.ts'
import { bornProcess, bornProcesses } from '../process/born-process.ts'
import type { Guest, GuestFile, GuestSpec, PlannedGuest, Sandbox } from '../sandbox.ts'
import { bubblewrapArguments, ownDescriptors } from './arguments.ts'
import { findBubblewrap, whatBubblewrapLacks } from './find-bubblewrap.ts'
import { accountFiles } from './layout.ts'
import { type BubblewrapGuest, planGuest } from './plan-guest.ts'

/** What is about to be made, other than the plan says: for tests that show that it is found out. */
export interface Making {
  readonly arguments: readonly string[]
  /** Descriptors of this process that the guest would get, by the number it would have them under. */
  readonly passed: ReadonlyMap<number, number>
}

export interface BubblewrapOptions {
  readonly tamper?: (making: Making) => Making
}

export function bubblewrap({ tamper = (making) => making }: BubblewrapOptions = {}): Sandbox {
  const planned = new WeakMap<PlannedGuest, BubblewrapGuest>()
  return {
    isolation: 'bubblewrap',
    lacks: () => whatBubblewrapLacks(),
    plan: (spec: GuestSpec) => {
      const architecture = ownArchitecture()
      if (!architecture) throw new SallyportError('no_isolation')
      const guest = planGuest(spec, architecture)
      planned.set(guest, guest)
      return guest
    },
    create: (guest, files = []) => {
      const known = planned.get(guest)
      if (!known) throw new TypeError('a guest that was not planned here')
      return createGuest(known, [...accountFiles, ...files], tamper)
    },
  }
}

async function createGuest(
  guest: BubblewrapGuest,
  contents: readonly GuestFile[],
  tamper: (making: Making) => Making,
): Promise<Guest> {
  const program = findBubblewrap()
  if (program === undefined) throw new SallyportError('no_isolation')
  const files = contents.map((file, index) => ({ ...file, descriptor: firstFile + index }))
  const { layout, environment, spec } = guest
  const nesting = spec.nesting ?? false
  const own = bubblewrapArguments({ layout, environment, nesting, files })
  const making = tamper({ arguments: own, passed: new Map() })
  const held = await spawnGate({
    words: [program, '--args', `${ownDescriptors.arguments}`, '--', ...guest.words],
    environment: {},
    stdio: spec.stdio,
    folder: '/',
    inputs: new Map<number, string | Uint8Array>([
      [ownDescriptors.arguments, making.arguments.map((word) => `${word}\0`).join('')],
      [ownDescriptors.seccomp, guest.seccomp],
      ...files.map(({ text, descriptor }) => [descriptor, text] as const),
    ]),
    status: ownDescriptors.status,
    passed: making.passed,
  })
  return behindGate(guest, held)
}

/** Above the descriptors of the gate. */
const firstFile = 10

async function behindGate(guest: BubblewrapGuest, held: HeldGate): Promise<Guest> {
  const pid = childIn(held.status)
  const process = pid === undefined ? undefined : bornProcess(pid)
  if (!process) {
    await abandon(held.child)
    throw new SallyportError('sandbox_failed', { cause: 'bubblewrap does not tell its child' })
  }
  const namespaces = readNamespaces(process.pid)
  return new HeldGuest({
    plan: guest.plan,
    process,
    held,
    isGuarded: false,
    channel: guest.spec.channel === undefined ? undefined : guestPlaces.channel,
    // Whoever has entered one of them too. What is in its pid namespace ends with the first.
    members: (isFirstRunning) => (isFirstRunning ? bornProcesses(processesIn(namespaces)) : []),
  })
}

/** The first line of `--json-status-fd`. */
function childIn(status: string): number | undefined {
  const found = /"child-pid"\s*:\s*(\d+)/.exec(status)?.[1]
  return found === undefined ? undefined : Number(found)
}
