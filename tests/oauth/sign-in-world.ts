/** For tests: sign-ins and refreshes on a store in memory, and a worker that gives what a test says when the test says. */
import {
  beginSignIn,
  type Connection,
  type Credential,
  finishSignIn,
  Journal,
  type OAuthDeps,
  type OAuthFlow,
  type OAuthTarget,
  type OAuthWorker,
  type PageDraft,
  Refresher,
  Revoker,
  type Store,
  type Tx,
} from '@sallyport/core'
import type { ConnectionId, CredentialId, OAuthClientId } from '@sallyport/protocol'
import { type OAuthGranted, oauthFlowMs, seal } from '@sallyport/protocol/node'
import { sampleSigner } from '../../packages/protocol/src/journal/sample-journal.ts'
import { addConnection, newWorld, type World } from '../authority/world.ts'

export type Account = OAuthGranted['account']
type Meanwhile = () => Promise<unknown>

const signIn = {
  redirectUri: 'http://127.0.0.1:1/oauth/callback',
  clientMetadataUrl: undefined,
  acceptsIssuer: false,
}
const issuers = { login: 'https://login.example', other: 'https://other.example' } as const

export interface Begun {
  /** Of the credential that comes of it, unless it is the next version of another one. */
  readonly fresh: CredentialId
  /** Until then it waits for its person. */
  finish(): Promise<OAuthFlow | undefined>
}

interface Planned {
  readonly account: Account
  readonly meanwhile: Meanwhile
  fresh: string
}

export class SignInWorld {
  readonly world: World
  readonly store: Store
  readonly deps: OAuthDeps
  /** What its authorization server was asked to revoke: id and version. */
  readonly revoked: string[] = []
  readonly revoker: Revoker
  /** It answers no sooner. */
  revokesAfter: Promise<void> | undefined
  /** Happens once, in the middle of the next look for what is in use: when connections were read, and credentials not yet. */
  whileLooking: Meanwhile | undefined
  readonly #issuers = new Map<ConnectionId, string>()
  readonly #planned = new Map<string, Planned>()
  readonly #looks: Promise<unknown>[] = []
  #next: Planned | undefined
  #state = ''

  private constructor(world: World) {
    this.world = world
    this.store = world.store
    this.revoker = this.#revoker()
    this.deps = {
      ...world.deps,
      journal: this.journalOn(world.store),
      instance: world.deps.ids('instance'),
      oauth: {
        begin: async (target, request) => {
          if (this.#next) this.#next.fresh = request.freshCredentialId
          if (request.grant === 'client_credentials') return this.#give(target, this.#next)
          this.#state = request.state
          const { id, scope, revision: version } = target.connection
          const place = { kind: 'oauth_pending', id, scope, version } as const
          const pending = seal({ any: 'thing' }, place, world.key)
          const issuer = this.#issuers.get(id) ?? ''
          const expiresAt = Date.now() + oauthFlowMs
          return { kind: 'begun', authorizeUrl: issuer, pending, expiresAt, issuer, places: [] }
        },
        finish: (target, { state }) => this.#give(target, this.#planned.get(state)),
      },
    }
  }

  static async start(): Promise<SignInWorld> {
    return new SignInWorld(await newWorld())
  }

  journalOn(store: Pick<Store, 'transact'>): Journal {
    const { ids } = this.world.deps
    const identity = { ids, now: Date.now, instance: ids('instance'), signer: sampleSigner() }
    return new Journal({
      ...{ store: store as Store, ...identity },
      ended: (grants) => this.revoker.revoke(grants),
    })
  }

  #revoker(): Revoker {
    const transact: Journal['transact'] = (work, options) => {
      const looked = this.whileLooking
        ? this.#look(work)
        : this.world.deps.journal.transact(work, options)
      this.#looks.push(looked)
      return looked
    }
    return new Revoker({
      journal: { transact } as Journal,
      oauth: {
        revoke: async ({ credential }) => {
          this.revoked.push(`${credential?.id} ${credential?.version}`)
          await this.revokesAfter
          return { kind: 'revoked' }
        },
      },
      report: (error) => {
        throw error
      },
    })
  }

  /** Each read sees what is committed by then, as in a transaction on Postgres. */
  #look<T>(work: (tx: Tx, page: PageDraft) => Promise<T>): Promise<T> {
    const [{ connections, credentials, oauth }, meanwhile] = [this.store, this.whileLooking]
    this.whileLooking = undefined
    const getMany: typeof connections.getMany = async (ids) => {
      const rows = await connections.getMany(ids)
      await meanwhile?.()
      return rows
    }
    const get: typeof connections.get = (id) => connections.get(id)
    return work({ connections: { get, getMany }, credentials, oauth } as Tx, {} as PageDraft)
  }

  /** Whatever is to be revoked was asked for. */
  async settle(): Promise<readonly string[]> {
    for (let seen = -1; seen < this.#looks.length; ) {
      seen = this.#looks.length
      await Promise.allSettled(this.#looks)
      await new Promise(setImmediate)
    }
    return this.revoked
  }

  async add(name: string, issuer: keyof typeof issuers = 'login', isClient = false) {
    const connection = await addConnection(this.world, this.world.admin, { name })
    const { id, scope, endpointSeal } = connection
    this.#issuers.set(id, issuers[issuer])
    const clientId = this.world.deps.ids('oauthClient') as OAuthClientId
    await this.store.transact(async (tx) => {
      await tx.oauth.insertClient({
        ...{ id: clientId, connectionId: id, scope, version: 1, issuer: null },
        ...{ seal: endpointSeal ?? '', createdAt: 0 },
      })
      await tx.oauth.putConnection({
        ...{ connectionId: id, grantType: isClient ? 'client_credentials' : 'authorization_code' },
        ...{ issuer: null, server: null, clientId: isClient ? clientId : null },
        ...{ scopeWanted: [], scopeRequired: [], places: [] },
      })
    })
    return connection
  }

  /** `meanwhile` happens when its tokens were given, before they are published. */
  async begin(
    { id }: Connection,
    account: Account,
    meanwhile: Meanwhile = async () => {},
    oauth = this.deps.oauth,
  ): Promise<Begun> {
    const planned: Planned = { account, meanwhile, fresh: '' }
    this.#next = planned
    await beginSignIn(this.deps, this.world.admin, id, signIn)
    const state = this.#state
    this.#planned.set(state, planned)
    const finish = () => finishSignIn({ ...this.deps, oauth }, { state, code: 'code-1' })
    return { fresh: planned.fresh as CredentialId, finish }
  }

  /** Client credentials: done at once. */
  async beginClient({ id }: Connection, account: Account, meanwhile: Meanwhile, on?: Journal) {
    const planned: Planned = { account, meanwhile, fresh: '' }
    this.#next = planned
    const deps = { ...this.deps, journal: on ?? this.deps.journal }
    const begun = await beginSignIn(deps, this.world.admin, id, signIn).catch(
      (thrown: unknown) => thrown,
    )
    return { begun, fresh: planned.fresh as CredentialId }
  }

  /** The first sign-in of a connection; its credential. */
  async signedIn(connection: Connection, account: Account = 'first'): Promise<Credential> {
    const flow = await (await this.begin(connection, account)).finish()
    if (flow?.state !== 'done') throw new Error(`not signed in: ${flow?.code}`)
    return this.present(connection)
  }

  async present({ id }: Connection): Promise<Credential> {
    const { credentialId = null } = (await this.store.connections.get(id)) ?? {}
    const credential = credentialId && (await this.store.credentials.get(credentialId))
    if (!credential) throw new Error('no credential')
    return credential
  }

  /** `meanwhile` happens when the new tokens were given, before they are published. */
  refresher(meanwhile: Meanwhile, found?: OAuthWorker['recover']): Refresher {
    const { deps, store } = this
    const never = () => Promise.reject(new Error('not asked for'))
    const worker: OAuthWorker = {
      ...{ begin: never, finish: never, revoke: never, settled: () => undefined },
      name: () => ({ intentId: deps.ids('intent'), workerInstance: 'worker', issuedAt: 1 }),
      refresh: async (target) => {
        const granted = await this.#give(target, { account: 'same', meanwhile, fresh: '' })
        return { kind: 'granted', granted }
      },
      recover: found ?? never,
    }
    return new Refresher({
      ...{ store, journal: deps.journal, oauth: worker, instance: deps.instance, now: Date.now },
      pause: async () => undefined,
      report: (error) => {
        throw error
      },
    })
  }

  /** What a worker gives for this target. */
  granted({ connection, credential }: OAuthTarget, account: Account, fresh: string): OAuthGranted {
    const next = account === 'same' ? credential : undefined
    const [id, version] = [next?.id ?? fresh, (next?.version ?? 0) + 1]
    const row = { kind: 'credential', id, scope: connection.scope, version } as const
    const issuerHost = new URL(this.#issuers.get(connection.id) ?? '').host
    return {
      ...{ kind: 'granted', account, credentialId: id, credentialVersion: version },
      seal: seal({ token: `t${version}` }, row, this.world.key),
      clear: { bearer: true, headerNames: [], oauth: { issuerHost, refreshable: true } },
      places: [],
    }
  }

  async #give(target: OAuthTarget, planned: Planned | undefined): Promise<OAuthGranted> {
    if (!planned) throw new Error('not planned')
    await planned.meanwhile()
    return this.granted(target, planned.account, planned.fresh)
  }
}
