/** Checks of what keeps secrets secret: keys that open them, and memory that stays where it is. */
import { type Answer, toSallyportError } from '@sallyport/protocol'
import type { ApiDeps } from './api-deps.ts'
import { showKeys } from './vault.ts'

type Check = Answer<'doctor.run'>['items'][number]
type Deps = Pick<ApiDeps, 'store' | 'vault' | 'worker' | 'coreDumps'>

export async function checkVault(deps: Deps): Promise<Check[]> {
  return [...(await checkKeys(deps)), checkDumps(deps)]
}

/** Nothing while the worker is away: that is told elsewhere. */
async function checkKeys(deps: Deps): Promise<Check[]> {
  const id = 'vault-keys'
  try {
    return [{ id, ...judgeKeys(await showKeys(deps)) }]
  } catch (thrown) {
    if (toSallyportError(thrown).code === 'worker_down') return []
    throw thrown
  }
}

function judgeKeys({ items, rotation }: Answer<'keys.show'>): Omit<Check, 'id'> {
  const sealsOf = (wanted: string) =>
    items.reduce((sum, { state, seals }) => (state === wanted ? sum + seals : sum), 0)
  const [lost, missing] = [sealsOf('retired'), sealsOf('missing')]
  if (lost > 0)
    return {
      state: 'problem',
      text: `${secrets(lost)} sealed to a vault key that was retired; nobody can open that any more.`,
      who: 'owner',
      next: 'Enter what "sallyport connection list" and "sallyport webhook list" show as broken again.',
    }
  if (missing > 0)
    return {
      state: 'problem',
      text: `${secrets(missing)} sealed to a vault key that this worker does not have.`,
      who: 'operator',
      next: 'Bring the key file they were sealed with back, or give every worker the same one.',
    }
  if (rotation.state === 'stuck')
    return {
      state: 'warning',
      text: `${secrets(rotation.left)} sealed to an older vault key and cannot be sealed again.`,
      who: 'administrator',
      next: 'sallyport keys show',
    }
  const text =
    rotation.state === 'running'
      ? `A new vault key seals; ${secrets(rotation.left)} still to be sealed to it.`
      : 'Every secret is sealed to a vault key that the worker has.'
  return { state: 'ok', text, who: null, next: null }
}

const secrets = (n: number): string => (n === 1 ? '1 secret is' : `${n} secrets are`)

function checkDumps({ worker, coreDumps }: Deps): Check {
  const id = 'core-dumps'
  const found = { gateway: coreDumps(), worker: worker.info().coreDumps ?? 'off' }
  const open = Object.entries(found).filter(([, state]) => state !== 'off')
  if (open.length === 0)
    return {
      id,
      state: 'ok',
      text: 'Memory of gateway and worker stays out of core dumps.',
      who: null,
      next: null,
    }
  const isTold = open.every(([, state]) => state === 'on')
  const whose = open.map(([name]) => name).join(' and ')
  return {
    id,
    state: 'warning',
    text: isTold
      ? `Memory of the ${whose} may get into a core dump.`
      : `This system does not tell whether memory of the ${whose} may get into a core dump.`,
    who: 'operator',
    next: 'Start Sallyport with core dumps off ("ulimit -c 0").',
  }
}
