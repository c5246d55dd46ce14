/**
 * Seals again, to the newest key, what is sealed to older ones. Gateways may do it side by side: each seal is replaced by
 * compare-and-swap, and whoever begins again goes on with what is left.
 */
import { type ErrorCode, SallyportError, toSallyportError } from '@sallyport/protocol'
import { placeProblem, readSealHeader } from '@sallyport/protocol/node'
import type { Store } from '../store.ts'
import { holdSealKey } from './hold-seal-key.ts'
import type { StoredSeal } from './seal-store.ts'
import { kidOf, pagesOfSeals } from './stored-seals.ts'

export interface SweepDeps {
  readonly store: Store
  /** The worker: the same secret for the same place, sealed to another key. Rejects with SallyportError. */
  readonly reseal: (seal: StoredSeal, toKid: string) => Promise<string>
  /** Between two handfuls, so that calls go first. */
  readonly pause: () => Promise<void>
}

export interface Sweep {
  readonly toKid: string
  readonly oldKids: ReadonlySet<string>
}

/** A seal that could not be sealed again, and why. A person has to enter its secret again, or remove its row. */
export interface StuckSeal {
  readonly kind: StoredSeal['place']['kind']
  readonly id: string
  readonly code: ErrorCode
}

const atOnce = 16

/** One pass. Rejects when the worker is away (`worker_down`) or the store fails; what was done until then stays done. */
export async function sweepSeals(deps: SweepDeps, sweep: Sweep): Promise<StuckSeal[]> {
  const stuck: StuckSeal[] = []
  for await (const page of pagesOfSeals(deps.store)) {
    const old = page.filter(({ seal }) => sweep.oldKids.has(kidOf(seal) ?? ''))
    for (let at = 0; at < old.length; at += atOnce) {
      stuck.push(...(await sealAgain(deps, sweep, old.slice(at, at + atOnce))))
      await deps.pause()
    }
  }
  return stuck
}

async function sealAgain(
  deps: SweepDeps,
  { toKid }: Sweep,
  handful: readonly StoredSeal[],
): Promise<StuckSeal[]> {
  const stuck: StuckSeal[] = []
  const done: { readonly old: StoredSeal; readonly seal: string }[] = []
  const answers = await Promise.allSettled(handful.map((old) => ask(deps, old, toKid)))
  answers.forEach((answer, at) => {
    const old = handful[at] as StoredSeal
    if (answer.status === 'fulfilled') done.push({ old, seal: answer.value })
    else stuck.push(stuckWith(old, answer.reason))
  })
  await replaceAll(deps.store, done)
  return stuck
}

async function ask({ reseal }: SweepDeps, old: StoredSeal, toKid: string): Promise<string> {
  const seal = await reseal(old, toKid)
  const { kid, sallyport } = readSealHeader(seal)
  const problem = kid === toKid ? placeProblem(sallyport, old.place) : 'seal_unreadable'
  if (problem) throw new SallyportError(problem)
  return seal
}

/** Throws for what is not the seal's fault: then the pass is over. */
function stuckWith({ place: { kind, id } }: StoredSeal, reason: unknown): StuckSeal {
  const { code } = toSallyportError(reason)
  if (!code.startsWith('seal_')) throw reason
  return { kind, id, code }
}

/** Without a flush of its own: a seal that a power cut takes back is sealed again by the next pass. */
async function replaceAll(
  store: Store,
  done: readonly { readonly old: StoredSeal; readonly seal: string }[],
): Promise<void> {
  const [first] = done
  if (!first) return
  await store.transact(
    async (tx) => {
      for (const { old, seal } of done) await tx.seals.replace(old, seal)
      await holdSealKey(tx, first.seal)
    },
    { flush: 'later' },
  )
}
