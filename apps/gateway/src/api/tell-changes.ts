/**
 * Requests that change what may be done, or who may, are told in the journal: who asked for what, in the transaction that
 * changes it. What a request says is told as far as nothing of it can be secret.
 */
import { changedEvent, type PageDraft, type Tx, type User } from '@sallyport/core'
import type { RouteName, routes } from '@sallyport/protocol'
import { digestBytes } from '@sallyport/protocol/node'
import type { ApiDeps } from './api-deps.ts'

/**
 * Fields of the body that are told, or parts of a field (`limits.rate`), of others only that they were given. `elsewhere`: it
 * has events of its own, or it changes nothing of that kind.
 */
type Telling = readonly string[] | 'all' | 'elsewhere'

type ChangingRoute = {
  [N in RouteName]: (typeof routes)[N]['method'] extends 'GET' ? never : N
}[RouteName]

/** All but fixed arguments: an argument is data of a call, whoever sets it, and a journal is for ever. */
const grantLimits = [
  'limits.schema',
  'limits.rate',
  'limits.approvers',
  'limits.excludeRequester',
  'limits.identicalOnly',
  'limits.resultBytes',
  'limits.isolation',
]

const telling: Readonly<Record<ChangingRoute, Telling>> = {
  'keys.rotate': [],
  'user.create': 'all',
  'user.disable': [],
  'token.create': 'all',
  'token.revoke': [],
  'connection.create': ['id', 'name', 'scope', 'transport', 'required', 'limits', 'service'],
  'connection.edit': ['version', 'name', 'required', 'limits', 'keepEndpoint'],
  'connection.remove': [],
  'connection.enable': [],
  'connection.disable': [],
  'connection.test': 'elsewhere',
  'connection.refresh': 'elsewhere',
  'connection.authorize': 'elsewhere',
  'connection.disconnect': 'elsewhere',
  'service.create': ['name', 'method', 'scopeWanted'],
  'service.remove': [],
  'catalog.discover': 'elsewhere',
  'catalog.diff': 'elsewhere',
  'catalog.review': 'all',
  'catalog.publish': 'all',
  'catalog.withdraw': 'all',
  'profile.create': 'all',
  'profile.grant': ['connection', 'tools', 'mode', 'confirmUnattended', ...grantLimits],
  'profile.revoke': 'all',
  'session.create': ['profile', 'isolation', 'label', 'owner', 'harness', 'continues'],
  'session.evidence': 'elsewhere',
  'session.heartbeat': 'elsewhere',
  'session.confirmDenySet': 'elsewhere',
  'session.end': [],
  'execution.resolve': 'elsewhere',
  'approval.approve': 'elsewhere',
  'approval.deny': 'elsewhere',
  'webhook.create': ['name', 'id', 'events'],
  'webhook.enable': [],
  'webhook.remove': [],
  'webhook.test': 'elsewhere',
  'audit.executions': 'elsewhere',
  'pause.set': 'all',
  'pause.clear': [],
  'denySet.edit': 'all',
  'setting.set': 'all',
  'setting.unset': [],
}

/** A request that was let in. */
export interface AskedChange {
  readonly name: RouteName
  readonly user: Pick<User, 'id' | 'name'>
  readonly params: Readonly<Record<string, string>>
  readonly body: unknown
}

type Told = Pick<ApiDeps, 'store' | 'journal' | 'now'>

/** Runs `work` with the dependencies it has to use; its first transaction that comes through tells of the change. */
export async function tellingChange<D extends Told, T>(
  deps: D,
  asked: AskedChange,
  work: (deps: D) => Promise<T>,
): Promise<T> {
  const fields = isChanging(asked.name) ? telling[asked.name] : 'elsewhere'
  if (fields === 'elsewhere') return await work(deps)
  const change = { what: asked.name, by: asked.user, of: asked.params, ...said(asked.body, fields) }
  let isTold = false
  const transact: ApiDeps['journal']['transact'] = async (inner, options) => {
    const tells = !isTold
    const result = await deps.journal.transact(async (tx: Tx, page: PageDraft) => {
      const worked = await inner(tx, page)
      if (tells) page.note(changedEvent(change, await tx.now()))
      return worked
    }, options)
    isTold ||= tells
    return result
  }
  const store = {
    ...deps.store,
    transact: ((inner, options) =>
      transact((tx) => inner(tx), options)) as Told['store']['transact'],
  }
  const result = await work({ ...deps, store, journal: { transact } })
  // It was changed by somebody who has transactions of their own.
  if (!isTold) await transact(async () => {})
  return result
}

function isChanging(name: RouteName): name is ChangingRoute {
  return name in telling
}

/** A longer one is told by its digest. */
const longestText = 16_384

function said(body: unknown, fields: Exclude<Telling, 'elsewhere'>): Record<string, unknown> {
  if (typeof body !== 'object' || body === null) return {}
  const { told, gave } = partsOf(body, fields)
  const text = JSON.stringify(told)
  return {
    ...(text === '{}' ? {} : { said: text.length > longestText ? digestBytes(text) : told }),
    ...(gave.length > 0 ? { gave } : {}),
  }
}

interface Parts {
  readonly told: Readonly<Record<string, unknown>>
  readonly gave: readonly string[]
}

function partsOf(body: object, fields: readonly string[] | 'all', before = ''): Parts {
  const told: [name: string, value: unknown][] = []
  const gave: string[] = []
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined) continue
    const place = `${before}${name}`
    if (fields === 'all' || fields.includes(place)) told.push([name, value])
    else if (fields.some((field) => field.startsWith(`${place}.`))) {
      const inner = partsOf(value, fields, `${place}.`)
      if (Object.keys(inner.told).length > 0) told.push([name, inner.told])
      gave.push(...inner.gave)
    } else gave.push(place)
  }
  return { told: Object.fromEntries(told), gave }
}
