/** A Sallyport with many secrets of every kind, the load of guests that go on calling, and a look behind its back. */
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { idSource } from '@sallyport/protocol'
import {
  newWebhookSecret,
  readSealHeader,
  sealConnection,
  sealWebhook,
} from '@sallyport/protocol/node'
import { grantTools, publishTools } from '../harness/setup-connection.ts'
import type { Sallyport } from '../harness/start-sallyport.ts'
import { eventually } from '../system/eventually.ts'
import { RawGuest } from '../system/raw-guest.ts'
import type { Upstream } from '../upstreams/scripted-upstream.ts'

const ids = idSource(Date.now, (size) => randomBytes(size))
const perScope = 25

export interface Planted {
  readonly name: string
  readonly token: string
  /** Guests call it; the others are drafts. */
  readonly isCalled: boolean
}

/** `count` connections, each with a token of its own; the first `called` are ready to be called, by the profile `p`. */
export async function plant(
  sallyport: Sallyport,
  upstream: Upstream,
  { count, called }: { readonly count: number; readonly called: number },
): Promise<readonly Planted[]> {
  const planted = Array.from({ length: count }, (_, n) => ({
    name: `c${n}`,
    token: `token-${n}-${randomBytes(16).toString('hex')}`,
    isCalled: n < called,
  }))
  for (const [n, one] of planted.entries()) {
    const scope = n < perScope ? 'org' : `project:p${Math.floor(n / perScope)}`
    await addConnection(sallyport, { ...one, url: upstream.url, scope })
    if (!one.isCalled) continue
    const spec = { ...one, url: upstream.url, read: ['counter_read'], profile: 'p' }
    await publishTools(sallyport, spec)
    await grantTools(sallyport, spec)
  }
  return planted
}

interface ToAdd {
  readonly name: string
  readonly token: string
  readonly url: string
  readonly scope: string
}

/** Sealed to a key that is given, or to the present one. */
export async function addConnection(
  { api }: Sallyport,
  { name, token, url, scope }: ToAdd,
  key?: { readonly kid: string; readonly jwk: Parameters<typeof sealConnection>[0]['key']['jwk'] },
): Promise<void> {
  const id = ids('connection')
  const { endpoint, credential } = sealConnection({
    url,
    token,
    headers: [],
    ...{ connectionId: id, revision: 1, credentialId: ids('credential'), credentialVersion: 1 },
    scope,
    key: key ?? (await api('vault.show')),
    localAllowed: true,
  })
  if (!credential) throw new Error('a token was given')
  await api('connection.create', {}, { id, name, scope, endpoint, credential })
}

export async function addWebhook({ api }: Sallyport, name: string, url: string): Promise<string> {
  const webhookId = ids('webhook')
  const secret = newWebhookSecret()
  const place = { webhookId, version: 1, scope: 'org' }
  const key = await api('vault.show')
  const sealed = sealWebhook({ url, secret, ...place, key, localAllowed: true })
  await api('webhook.create', {}, { id: webhookId, name, ...sealed })
  return webhookId
}

/** Every connection reaches its server, each with its own token. Names of those that do not. */
export async function unreachable(
  { api }: Sallyport,
  upstream: Upstream,
  planted: readonly Planted[],
): Promise<string[]> {
  const wrong: string[] = []
  for (const { name, token } of planted) {
    const { state, code } = await api('connection.test', { name })
    const sent = upstream.requests.at(-1)?.headers.authorization
    if (state !== 'ok' || sent !== `Bearer ${token}`)
      wrong.push(`${name}: ${code ?? 'other token'}`)
  }
  return wrong
}

export interface Load {
  /** What did not go well. */
  readonly failures: readonly string[]
  readonly calls: () => number
  stop(): Promise<void>
}

/** A guest takes it after a call. Without any, they take all of the machine, and everything else on it is late. */
const restMs = 10

/** So many guests call one connection after the other. */
export function startLoad(
  at: readonly { readonly guestUrl: string; readonly token: string }[],
  names: readonly string[],
  guests = 8,
): Load {
  const failures: string[] = []
  let calls = 0
  let isOver = false
  const lane = async (lane: number): Promise<void> => {
    const { guestUrl, token } = at[lane % at.length] as (typeof at)[number]
    for (let n = lane; !isOver; n++) {
      const name = names[n % names.length] as string
      const era = lane % 2 === 0 ? 'modern' : 'legacy'
      const guest = new RawGuest({ endpoint: `${guestUrl}/mcp/${name}`, token, era })
      try {
        const answer = await guest.call('counter_read')
        if (answer.isError) failures.push(`${name}: ${answer.failure?.code ?? answer.text}`)
      } catch (thrown) {
        failures.push(`${name}: ${thrown}`)
      }
      calls++
      await sleep(restMs)
    }
  }
  const lanes = Array.from({ length: guests }, (_, n) => lane(n))
  return {
    failures,
    calls: () => calls,
    stop: async () => {
      isOver = true
      await Promise.all(lanes)
    },
  }
}

/** Resolves when a rotation is over; throws after `ms`. */
export async function rotated({ api }: Sallyport, ms = 60_000): Promise<void> {
  await eventually(
    // A worker that was killed is away for a moment.
    () => api('keys.show').catch(() => undefined),
    (keys) => keys?.rotation.state === 'done',
    ms,
  )
}

/** How many seals of each key the database file has, whatever table they are in, or in one of them. */
export function sealsInDatabase({ dataDir }: Sallyport, table = '%'): Record<string, number> {
  const database = new DatabaseSync(join(dataDir, 'sallyport.db'), { readOnly: true })
  try {
    const sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE ?"
    const tables = database.prepare(sql).all(table)
    const rows = tables.flatMap(({ name }) => database.prepare(`SELECT * FROM "${name}"`).all())
    const counts: Record<string, number> = {}
    for (const kid of rows.flatMap((row) => Object.values(row).flatMap(kidOf)))
      counts[kid] = (counts[kid] ?? 0) + 1
    return counts
  } finally {
    database.close()
  }
}

function kidOf(value: unknown): string[] {
  if (typeof value !== 'string' || !value.startsWith('ey')) return []
  try {
    return [readSealHeader(value).kid]
  } catch {
    return []
  }
}

export const vaultKeyFile = ({ dataDir }: Sallyport): string => join(dataDir, 'worker', 'vault.key')

/** Names and texts of the files that a vault key file has beside itself. */
export function keyFiles(path: string): Record<string, string> {
  const name = basename(path)
  if (!existsSync(dirname(path))) return {}
  const names = readdirSync(dirname(path)).filter((entry) => entry.startsWith(name))
  return Object.fromEntries(
    names.map((entry) => [entry, readFileSync(join(dirname(path), entry), 'utf8')]),
  )
}
