/** The control API on a real socket, with a scripted worker and a log that is kept. */
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type Actor,
  type Connection,
  createToken,
  loadSettings,
  type Store,
  type Toolsets,
} from '@sallyport/core'
import { type RouteName, release, routes, SallyportError } from '@sallyport/protocol'
import {
  bodySealer,
  type CoreDumps,
  dataKey,
  type HeldKey,
  type Listing,
  type ResultHead,
} from '@sallyport/protocol/node'
import type { ApiDeps } from '../../apps/gateway/src/api/api-deps.ts'
import { createControlApi } from '../../apps/gateway/src/api/control-api.ts'
import type {
  WebhookToSend,
  WorkerAdmin,
  WorkerInfo,
} from '../../apps/gateway/src/api/worker-admin.ts'
import { DenyDesk } from '../../apps/gateway/src/deny/deny-desk.ts'
import { createMetrics } from '../../apps/gateway/src/metrics.ts'
import type { KeyView } from '../../apps/gateway/src/vault/key-keeper.ts'
import { listingOf, newWorld, type World } from './world.ts'

/** Answers as the test says. */
export class ScriptedWorker implements WorkerAdmin {
  listing: Listing | SallyportError = listingOf('get_page', 'put_page')
  info_: WorkerInfo = {
    state: 'up',
    instance: 'ins_worker',
    release,
    build: 'test',
    pid: 1,
    coreDumps: 'off',
    isolation: null,
    certificateExpiresAt: null,
  }
  /** Of a webhook that is sent. */
  answered: Pick<ResultHead, 'verdict' | 'code' | 'status'> | SallyportError = { verdict: 'result' }
  /** Keys of the vault; the one of the world when not set. */
  held: readonly [HeldKey, ...HeldKey[]] | undefined
  known: KeyView['known'] = []
  stuck: KeyView['stuck'] = []
  dumpsOfGateway: CoreDumps = 'off'
  readonly sent: WebhookToSend[] = []
  readonly listed: Connection['id'][] = []
  readonly released: Connection['id'][] = []
  readonly #key: World['key']

  constructor(key: World['key']) {
    this.#key = key
  }

  async list({ id }: Connection): Promise<Listing> {
    this.listed.push(id)
    if (this.listing instanceof SallyportError) throw this.listing
    return this.listing
  }

  async sendWebhook(webhook: WebhookToSend): Promise<ResultHead> {
    if (this.answered instanceof SallyportError) throw this.answered
    this.sent.push(webhook)
    return { intent: 'int_1', ...this.answered }
  }

  release(id: Connection['id']): void {
    this.released.push(id)
  }

  view(): KeyView {
    if (this.info_.state === 'down') throw new SallyportError('worker_down')
    const { kid, jwk } = this.#key
    const keys = this.held ?? ([{ kid, jwk, madeAt: null }] as const)
    const held = { source: 'file', keys, retired: [] } as const
    return { held, sealing: keys[0], known: this.known, stuck: this.stuck }
  }

  async rotate(): Promise<void> {
    throw new SallyportError('vault_key_fixed')
  }

  info(): WorkerInfo {
    return this.info_
  }
}

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of an answer is what it checks
  readonly json: any
}

export interface Sent {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface ApiWorld extends World {
  readonly worker: ScriptedWorker
  readonly deps: ApiDeps
  readonly port: number
  /** Lines of the log as JSON. */
  readonly log: string[]
  readonly tokens: Readonly<Record<'admin' | 'alice' | 'bob', string>>
  send(method: string, path: string, sent?: Sent): Promise<Reply>
  /** As that person, by the table; `params` fill the path. */
  call(who: 'admin' | 'alice' | 'bob', name: RouteName, ask?: Ask): Promise<Reply>
  close(): Promise<void>
}

export interface Ask {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: string
  readonly body?: unknown
}

const noToolsets: Toolsets = {
  of: async () => ({ tools: [], find: () => undefined }),
  callable: async () => [],
}

const noAnswer = async (): Promise<never> => {
  throw new SallyportError('worker_down')
}
/** Tests of sign-ins have a real worker. */
const noOAuth = {
  oauth: { begin: noAnswer, finish: noAnswer, revoke: noAnswer },
  refresher: { refresh: noAnswer },
}

export async function startApi(given?: Store): Promise<ApiWorld> {
  const world = await newWorld(given)
  const worker = new ScriptedWorker(world.key)
  const log: string[] = []
  const note = (fields: object, message: string): void => {
    log.push(JSON.stringify({ ...fields, message }, (_, value) => errorText(value)))
  }
  let port = 0
  const inFlight = { settleSession: async () => {} }
  const deps: ApiDeps = {
    ...world.deps,
    instance: world.deps.ids('instance'),
    now: Date.now,
    log: { info: note, error: note },
    worker,
    vault: worker,
    metrics: createMetrics(),
    self: { release, build: 'test', instance: 'ins_gateway', startedAt: 0 },
    inFlight,
    caughtUp: async () => {},
    denySets: new DenyDesk({
      ...world.deps,
      inFlight,
      clock: () => performance.now(),
      pause: () => new Promise((resolve) => setImmediate(resolve)),
    }),
    checkpoints: { write: async () => {}, newest: null },
    bodies: bodySealer([dataKey(Buffer.alloc(32, 1))]),
    settings: await loadSettings(world.store),
    toolsets: noToolsets,
    destinations: { localAllowed: true, isOwn: (origin) => origin.port === port },
    guestUrl: () => 'http://127.0.0.1:7401',
    publicUrl: () => `http://127.0.0.1:${port}`,
    ...noOAuth,
    listener: () => ({ host: '127.0.0.1', port }),
    coreDumps: () => worker.dumpsOfGateway,
    shownTools: () => new Set(),
    checkDataFolder: async () => {},
    guestWays: { check: async () => ({}), open: async () => {} },
  }
  const server = createServer(createControlApi(deps))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
  const tokenOf = async (actor: Actor, user: string) =>
    (await createToken(world.deps, actor, { user })).secret
  const tokens = {
    admin: await tokenOf(world.admin, 'admin'),
    alice: await tokenOf(world.alice, 'alice'),
    bob: await tokenOf(world.bob, 'bob'),
  }
  const send = (method: string, path: string, sent: Sent = {}) => exchange(port, method, path, sent)
  return {
    ...world,
    deps,
    worker,
    port,
    log,
    tokens,
    send,
    call: (who, name, ask = {}) => {
      const { method, path } = routes[name]
      const filled = path.replace(/\{(\w+)\}/g, (_, key) =>
        encodeURIComponent(ask.params?.[key] ?? key),
      )
      return send(method, `/api/v1${filled}${ask.query ?? ''}`, {
        headers: { authorization: `Bearer ${tokens[who]}` },
        ...(ask.body === undefined ? {} : { body: JSON.stringify(ask.body) }),
      })
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
      if (!given) await world.store.close()
    },
  }
}

function errorText(value: unknown): unknown {
  return value instanceof Error ? { text: `${value.stack}`, cause: value.cause } : value
}

function exchange(port: number, method: string, path: string, { headers, body }: Sent) {
  return new Promise<Reply>((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, method, path, headers: { ...headers } })
    request.on('error', reject)
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        const isJson = response.headers['content-type'] === 'application/json'
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          json: isJson && text !== '' ? JSON.parse(text) : undefined,
        })
      })
    })
    request.end(body)
  })
}
