/** Checks of the running system. Each finding says who can mend it and what to do next. */
import { type Connection, conditionOf, dueBodies, readHealth } from '@sallyport/core'
import {
  type Answer,
  type ErrorCode,
  errors,
  SallyportError,
  toSallyportError,
} from '@sallyport/protocol'
import type { ApiDeps } from './api-deps.ts'
import { checkCondition } from './doctor-health.ts'
import { checkIsolation } from './doctor-isolation.ts'
import { checkVault } from './doctor-vault.ts'
import type { HandlersOf } from './handlers.ts'
import { listUpstream } from './list-upstream.ts'

type Check = Answer<'doctor.run'>['items'][number]
type Deps = Pick<
  ApiDeps,
  | 'store'
  | 'worker'
  | 'refresher'
  | 'vault'
  | 'coreDumps'
  | 'self'
  | 'now'
  | 'checkpoints'
  | 'checkDataFolder'
>

const atOnce = 4
const upstreamMs = 20_000
const dayMs = 86_400_000

export function doctorHandlers(deps: ApiDeps): HandlersOf<'doctor'> {
  return { 'doctor.run': async () => ({ items: await runChecks(deps) }) }
}

async function runChecks(deps: Deps): Promise<Check[]> {
  const machine = await Promise.all([
    attempt('store', 'The database answers and keeps what it confirms.', () => deps.store.ping()),
    attempt('journal', 'The journal is signed up to now.', () => deps.checkpoints.write()),
    attempt('data-folder', 'The data folder can be written.', () => deps.checkDataFolder()),
    attempt('retention', 'Kept arguments and results are deleted when they are due.', () =>
      dueBodies(deps.store, deps.now()),
    ),
  ])
  const vault = await checkVault(deps)
  const upstreams = await checkConnections(deps)
  const worker = [checkWorker(deps), ...checkIsolation(deps), checkCertificate(deps)]
  return [...machine, ...worker, ...vault, ...upstreams]
}

async function attempt(id: string, text: string, run: () => Promise<unknown>): Promise<Check> {
  try {
    await run()
    return ok(id, text)
  } catch (thrown) {
    return problem(id, toSallyportError(thrown).code)
  }
}

function checkWorker({ worker, self }: Deps): Check {
  const { state, release } = worker.info()
  if (state === 'down') return problem('worker', 'worker_down')
  if (release !== self.release) return problem('worker', 'wrong_release')
  return ok('worker', 'The worker is connected and of the same release.')
}

function checkCertificate({ worker, now }: Deps): Check {
  const end = worker.info().certificateExpiresAt
  const id = 'certificate'
  if (end === null) return ok(id, 'No certificate is in use while the worker is away.')
  const days = Math.floor((end - now()) / dayMs)
  if (days >= 7) return ok(id, `The certificates between gateway and worker last ${days} days.`)
  const isOver = end <= now()
  return {
    id,
    state: isOver ? 'problem' : 'warning',
    text: isOver
      ? 'A certificate between gateway and worker has expired.'
      : `A certificate between gateway and worker expires in ${days} days.`,
    who: 'operator',
    next: 'Restart: sallyport up makes new ones.',
  }
}

/** A few at a time, in the order of the list. */
async function checkConnections(deps: Deps): Promise<Check[]> {
  const connections = await deps.store.connections.list()
  const checks: Check[] = []
  const waiting = [...connections.entries()]
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift())
      checks[next[0]] = await checkConnection(deps, next[1])
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  return checks
}

async function checkConnection(deps: Deps, connection: Connection): Promise<Check> {
  const id = `connection:${connection.name}`
  try {
    const recorded = await readHealth(deps.store, connection)
    const found = checkCondition(id, connection.name, conditionOf(recorded, deps.now()), recorded)
    // Without a credential it is not asked: what it would say is known.
    if (found && recorded.credential?.state !== 'active') return found
    const { listing } = await within(upstreamMs, listUpstream(deps, connection))
    const judged = await judgeCatalog(deps, connection, id, listing.digest)
    return judged.state === 'ok' && found?.state === 'warning' ? found : judged
  } catch (thrown) {
    const { code } = toSallyportError(thrown)
    const next = `sallyport connection test ${connection.name}`
    return { ...problem(id, code), next }
  }
}

/** The upstream answers: may its tools be used? */
async function judgeCatalog(
  { store }: Deps,
  { name, state, publishedId }: Connection,
  id: string,
  listed: string,
): Promise<Check> {
  const who = 'administrator'
  const warning = (text: string, next: string): Check => ({ id, state: 'warning', text, who, next })
  const catalog = publishedId === null ? undefined : await store.catalogs.get(publishedId)
  if (!catalog)
    return warning(
      'The server answers; its tools are not published.',
      `sallyport catalog discover ${name}, then review and publish`,
    )
  if (state !== 'enabled')
    return warning(
      'The server answers; the connection is disabled.',
      `sallyport connection enable ${name}`,
    )
  if (catalog.digest !== listed)
    return warning(
      'The server answers; its tools are not those that were published.',
      `sallyport catalog diff ${name}`,
    )
  return ok(id, 'The server answers with the tools that were published.')
}

function ok(id: string, text: string): Check {
  return { id, state: 'ok', text, who: null, next: null }
}

const nextSteps: Partial<Record<ErrorCode, string>> = {
  worker_down: 'Wait a few seconds and look again; then read the log of sallyport up.',
  wrong_release: 'Install one release, then restart sallyport up.',
  data_not_writable: 'Give the user that runs Sallyport the right to write the data folder.',
  store_unavailable: 'Start the database, then look again.',
  row_unreadable: 'The log of sallyport up names the row; restore it from a backup.',
  journal_damaged: 'See what is missing with "sallyport audit verify".',
}

function problem(id: string, code: ErrorCode): Check {
  const { text, who } = errors[code]
  const next = nextSteps[code] ?? 'Read the log of sallyport up.'
  return { id, state: 'problem', text, who, next }
}

/** Rejects with `upstream_timeout` when it takes longer. */
async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new SallyportError('upstream_timeout')), ms)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
