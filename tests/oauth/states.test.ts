/** The state of a sign-in, on every store: whatever is wrong with one is the same answer, and nothing is asked of anybody. */
import {
  type BegunSignIn,
  beginSignIn,
  endLeftSignIns,
  finishSignIn,
  type Journal,
  type OAuthDeps,
} from '@sallyport/core'
import { type OAuthFlowId, SallyportError } from '@sallyport/protocol'
import { type JournalEvent, type OAuthBegin, oauthFlowMs, seal } from '@sallyport/protocol/node'
import { openMemoryStore } from '@sallyport/store'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addConnection, newWorld, type World } from '../authority/world.ts'
import { type Database, postgresDatabase, sqliteDatabase } from '../journal/databases.ts'
import { type RunningPostgres, startPostgres } from '../postgres/start-postgres.ts'

let postgres: RunningPostgres | undefined
afterAll(() => postgres?.stop())

const signIn = {
  redirectUri: 'http://127.0.0.1:1/oauth/callback',
  clientMetadataUrl: undefined,
  acceptsIssuer: false,
}

describe.each(['memory', 'sqlite', 'postgres'] as const)('%s', (engine) => {
  let database: Database | undefined
  let world: World
  let finished: string[]
  let deps: OAuthDeps
  let lastState = ''

  beforeAll(async () => {
    if (engine === 'postgres') {
      postgres = await startPostgres()
      database = await postgresDatabase(postgres)
    } else if (engine === 'sqlite') database = await sqliteDatabase()
    world = await newWorld(database?.store ?? openMemoryStore({ now: Date.now }))
    finished = []
    deps = {
      ...world.deps,
      instance: world.deps.ids('instance'),
      oauth: {
        begin: async ({ connection: { id, scope, revision: version } }, request: OAuthBegin) => {
          lastState = 'state' in request ? request.state : ''
          const place = { kind: 'oauth_pending', id, scope, version } as const
          const pending = seal({ state: lastState }, place, world.key)
          const expiresAt = Date.now() + oauthFlowMs
          const issuer = 'https://login.example'
          return { kind: 'begun', authorizeUrl: issuer, pending, expiresAt, issuer, places: [] }
        },
        // That it is asked at all says that the state was taken.
        finish: async (_target, { state }) => {
          finished.push(state)
          throw new SallyportError('oauth_denied')
        },
      },
    }
  }, 120_000)
  afterAll(() => database?.close())

  async function begun(name: string): Promise<BegunSignIn & { readonly state: string }> {
    const url = 'https://mcp.example.com/mcp'
    const { id } = await addConnection(world, world.admin, { name, url })
    await world.store.transact((tx) =>
      tx.oauth.putConnection({
        ...{
          connectionId: id,
          grantType: 'authorization_code',
          clientId: null,
          issuer: null,
          server: null,
        },
        ...{ scopeWanted: [], scopeRequired: [], places: [] },
      }),
    )
    const flow = await beginSignIn(deps, world.admin, id, signIn)
    return { ...flow, state: lastState }
  }
  const bring = (state: string) => finishSignIn(deps, { state, code: 'code-1' })

  test('one that is good is taken, once', async () => {
    const { state, flow } = await begun('good')
    expect(await bring(state)).toMatchObject({ id: flow.id, state: 'failed', code: 'oauth_denied' })
    expect(await bring(state)).toBeUndefined()
    expect(finished.filter((one) => one === state)).toHaveLength(1)
  })

  test('of two that bring it at once, one is answered', async () => {
    const { state } = await begun('twice')
    const answers = await Promise.all([bring(state), bring(state), bring(state)])
    expect(answers.filter((one) => one !== undefined)).toHaveLength(1)
    expect(finished.filter((one) => one === state)).toHaveLength(1)
  })

  test('one that is over by a millisecond is nobody’s', async () => {
    const [late, other] = [await begun('late'), await begun('in-time')]
    const now = await world.store.transact((tx) => tx.now())
    const move = (flow: BegunSignIn['flow'], expiresAt: number) =>
      world.store.transact((tx) => tx.oauth.closeFlow({ ...flow, expiresAt }))
    await move(late.flow, now)
    await move(other.flow, now + 60_000)
    expect(await bring(late.state)).toBeUndefined()
    expect(finished).not.toContain(late.state)
    expect(await bring(other.state)).toBeDefined()
  })

  test('one that is left is ended and told: by its person when it is over, by its gateway when that is gone', async () => {
    const { store } = world
    const move = (flow: BegunSignIn['flow'], changed: Partial<BegunSignIn['flow']>) =>
      store.transact((tx) => tx.oauth.closeFlow({ ...flow, ...changed }))
    const now = await store.transact((tx) => tx.now())
    const [living, dead] = [world.deps.ids('instance'), world.deps.ids('instance')]
    await store.transact((tx) =>
      tx.instances.renew({ id: living, startedAt: now, leaseUntil: now + 60_000 }),
    )
    const flows = {
      late: await begun('left-late'),
      waits: await begun('left-waits'),
      dead: await begun('left-dead'),
      living: await begun('left-living'),
      stuck: await begun('left-stuck'),
    }
    await move(flows.late.flow, { expiresAt: now })
    await move(flows.dead.flow, { state: 'finishing', finisher: dead })
    await move(flows.living.flow, { state: 'finishing', finisher: living, expiresAt: now })
    const longAgo = now - 120_000
    await move(flows.stuck.flow, { state: 'finishing', finisher: living, expiresAt: longAgo })
    const failed: string[] = []
    const endLeft = () => endLeftSignIns(world.deps, (id) => failed.push(id))
    await endLeft()
    const stateOf = async ({ flow }: BegunSignIn) => (await store.oauth.flow(flow.id))?.state
    expect(await stateOf(flows.waits)).toBe('waiting')
    expect(await stateOf(flows.living)).toBe('finishing')
    for (const { flow } of [flows.late, flows.dead, flows.stuck])
      expect(await store.oauth.flow(flow.id)).toMatchObject({
        ...{ state: 'failed', code: 'oauth_flow_over', pending: '' },
      })
    expect(await toldOf(flows.late)).toEqual(['sign_in_begun', 'sign_in_abandoned'])
    expect(await toldOf(flows.dead)).toEqual(['sign_in_begun', 'sign_in_interrupted'])
    expect(await toldOf(flows.stuck)).toEqual(['sign_in_begun', 'sign_in_interrupted'])
    expect(await toldOf(flows.waits)).toEqual(['sign_in_begun'])
    // Once, however often somebody looks.
    await endLeft()
    expect(await toldOf(flows.late)).toHaveLength(2)
    expect(failed).toEqual([])
    expect(await bring(flows.late.state)).toBeUndefined()
    expect(await bring(flows.waits.state)).toBeDefined()
  })

  test('one that cannot be ended now is told, and those after it are ended all the same', async () => {
    const { store } = world
    const flows = [(await begun('fails')).flow, (await begun('after')).flow]
    const now = await store.transact((tx) => tx.now())
    for (const flow of flows)
      await store.transact((tx) => tx.oauth.closeFlow({ ...flow, expiresAt: now }))
    const [first, second] = flows.map(({ id }) => id).toSorted() as [OAuthFlowId, OAuthFlowId]
    const journal = Object.create(world.deps.journal) as Journal
    let asked = 0
    journal.transact = (work, options) => {
      if (++asked === 1) throw new SallyportError('internal')
      return world.deps.journal.transact(work, options)
    }
    const failed: string[] = []
    await endLeftSignIns({ store, journal }, (id) => failed.push(id))
    expect(failed).toEqual([first])
    expect(await store.oauth.flow(first)).toMatchObject({ state: 'waiting' })
    expect(await store.oauth.flow(second)).toMatchObject({ state: 'failed' })
    // Its turn comes again.
    await endLeftSignIns(world.deps, (id) => failed.push(id))
    expect(await store.oauth.flow(first)).toMatchObject({ state: 'failed' })
    expect(failed).toHaveLength(1)
  })

  /** What the journal tells of one. */
  async function toldOf({ flow }: BegunSignIn): Promise<string[]> {
    const pages = await world.store.journal.pages(0, Number.MAX_SAFE_INTEGER, 1_000)
    return pages
      .flatMap(({ text }) => JSON.parse(text).events as JournalEvent[])
      .filter(({ notes }) => notes?.['flowId'] === flow.id)
      .map(({ kind }) => kind)
  }

  test('one that is absent, its hash, and one of another letter are nobody’s', async () => {
    const { state, flow } = await begun('absent')
    const before = finished.length
    const last = state.at(-1) === 'A' ? 'E' : 'A'
    for (const wrong of ['', 'x', flow.stateHash, `${state} `, `${state.slice(0, -1)}${last}`])
      expect(await bring(wrong)).toBeUndefined()
    expect(finished).toHaveLength(before)
    expect(await bring(state)).toBeDefined()
  })

  test.each(['the person may not any more', 'the connection is another one by now'])(
    'it is nobody’s where %s',
    async (what) => {
      const isPerson = what.startsWith('the person')
      const { state, flow } = await begun(isPerson ? 'person' : 'other')
      const { connectionRevision } = flow
      const changed = isPerson
        ? { userId: world.alice.userId }
        : { connectionRevision: connectionRevision + 1 }
      await world.store.transact((tx) => tx.oauth.closeFlow({ ...flow, ...changed }))
      expect(await bring(state)).toBeUndefined()
      expect(finished).not.toContain(state)
      expect(await world.store.oauth.flow(flow.id)).toMatchObject({ state: 'failed', pending: '' })
    },
  )
})
