/**
 * Changes of authority against each other, on a real store: whatever the order, what was acknowledged holds. Every race
 * runs several times, since a store with real concurrency takes both orders.
 */
import {
  authorityRefs,
  type Binding,
  type Connection,
  createSession,
  disableConnection,
  disableUser,
  editConnection,
  enableConnection,
  endSession,
  judge,
  publishCatalog,
  removeConnection,
  reviewCatalog,
  revokeGrants,
  type Session,
  type Store,
  withdrawCatalog,
} from '@sallyport/core'
import { type ErrorCode, SallyportError } from '@sallyport/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  addConnection,
  addProfile,
  destinations,
  discover,
  enabledConnection,
  grant,
  listingOf,
  newWorld,
  nothingDecided,
  sealedAgain,
  type World,
} from './world.ts'

const rounds = 8
const idle = { settleSession: async () => {} }

/** `open` gives a store whose rows nobody else uses. */
export function authorityRaces(open: () => Promise<Store>): void {
  let store: Store
  let world: World
  let names = 0
  beforeAll(async () => {
    store = await open()
    world = await newWorld(store)
  })
  afterAll(() => store.close())

  const fresh = (prefix: string) => `${prefix}-${names++}`
  const reviewed = async () => {
    const scope = `project:${fresh('p')}`
    const connection = await addConnection(world, world.admin, { name: fresh('c'), scope })
    await discover(world, world.admin, connection, listingOf('get_page'))
    const decisions = { ...nothingDecided, include: ['*'], read: ['*'] }
    await reviewCatalog(world.deps, world.admin, connection.id, decisions)
    return connection
  }
  const enabled = () =>
    enabledConnection(world, world.admin, { name: fresh('c'), scope: `project:${fresh('p')}` })

  test('of two publishers one wins, the other has a conflict', async () => {
    for (let round = 0; round < rounds; round++) {
      const { id } = await reviewed()
      const both = whenAllAreThere(store, 2)
      const publish = () => publishCatalog({ ...world.deps, store: both }, world.admin, id)
      const outcomes = await Promise.all([outcomeOf(publish()), outcomeOf(publish())])
      expect(outcomes.sort()).toEqual(['conflict', 'done'])
      const catalogs = await store.catalogs.ofConnection(id)
      expect(catalogs.map(({ state, number }) => [state, number])).toEqual([['published', 1]])
    }
  })

  test('a publication and an edit of the endpoint: no catalog is published for the other revision', async () => {
    for (let round = 0; round < rounds; round++) {
      const { id } = await reviewed()
      const { endpoint } = await sealedAgain(world, id, { url: 'https://other.example.com/' })
      const [published, edited] = await Promise.all([
        outcomeOf(publishCatalog(world.deps, world.admin, id)),
        outcomeOf(editConnection(world.deps, world.admin, id, { endpoint }, destinations)),
      ])
      expect(edited).toBe('done')
      expect(['done', 'conflict', 'nothing_to_publish']).toContain(published)
      const connection = await store.connections.get(id)
      expect(connection).toMatchObject({ revision: 2, publishedId: null })
      const states = (await store.catalogs.ofConnection(id)).map(({ state }) => state)
      expect(states).toEqual([published === 'done' ? 'superseded' : 'discarded'])
    }
  })

  test('a publication and the end of its publisher: once that is acknowledged nothing is published', async () => {
    for (let round = 0; round < rounds; round++) {
      const { id } = await reviewed()
      const name = fresh('publisher')
      const user = await newAdmin(world, name)
      let isDisabled = false
      const disabling = disableUser(world.deps, idle, world.admin, name).then(() => {
        isDisabled = true
      })
      const published = await outcomeOf(publishCatalog(world.deps, user, id))
      if (isDisabled && published === 'done') {
        const { publishedAt } = (await store.catalogs.ofConnection(id))[0] ?? {}
        const { disabledAt } = (await store.users.get(user.userId)) ?? {}
        expect(publishedAt).toBeLessThanOrEqual(disabledAt ?? 0)
      }
      await disabling
      expect(['done', 'not_allowed']).toContain(published)
      await expect(publishCatalog(world.deps, user, id)).rejects.toThrow(SallyportError)
    }
  })

  test('an administrator disabled between the request and the lock publishes nothing', async () => {
    const { id } = await reviewed()
    const name = fresh('publisher')
    const user = await newAdmin(world, name)
    const slow = whenAllAreThere(store, 2)
    const publishing = outcomeOf(publishCatalog({ ...world.deps, store: slow }, user, id))
    await disableUser(world.deps, idle, world.admin, name)
    await slow.transact(async () => {})
    expect(await publishing).toBe('not_allowed')
    expect((await store.connections.get(id))?.publishedId).toBeNull()
    await publishCatalog(world.deps, world.admin, id)
  })

  test('two administrators who disable each other: one remains', async () => {
    for (let round = 0; round < 3; round++) {
      const [one, two] = [fresh('one'), fresh('two')]
      const [first, second] = [await newAdmin(world, one), await newAdmin(world, two)]
      await Promise.all([
        outcomeOf(disableUser(world.deps, idle, first, two)),
        outcomeOf(disableUser(world.deps, idle, second, one)),
      ])
      const users = await Promise.all([store.users.byName(one), store.users.byName(two)])
      expect(users.filter((user) => user?.disabledAt === null)).toHaveLength(1)
    }
  })

  test('two grants for one tool: one stands', async () => {
    const connection = await enabled()
    for (let round = 0; round < rounds; round++) {
      const { id, name } = await addProfile(world, fresh('profile'))
      const outcomes = await Promise.all([
        outcomeOf(grant(world, world.admin, name, connection, 'get_page', 'read')),
        outcomeOf(grant(world, world.admin, name, connection, '*', 'read')),
      ])
      expect(outcomes).toContain('done')
      expect(await store.grants.ofProfile(id)).toHaveLength(1)
    }
  })

  test('a session and the revocation of its grant: what is bound is bound to a grant that is known as revoked', async () => {
    const connection = await enabled()
    for (let round = 0; round < rounds; round++) {
      const { name } = await addProfile(world, fresh('profile'))
      await grant(world, world.admin, name, connection, '*', 'read')
      const request = { profile: name, connection: connection.id, tools: '*' }
      const [created] = await Promise.all([
        createSession(world.deps, world.alice, { profile: name, isolation: 'external' }),
        revokeGrants(world.deps, world.admin, request),
      ])
      for (const { grantId } of created.bindings)
        expect((await store.grants.get(grantId))?.revokedAt).not.toBeNull()
    }
  })

  test('a session and the end of its owner: the session does not outlive it', async () => {
    const { name: profile } = await addProfile(world, fresh('profile'))
    for (let round = 0; round < rounds; round++) {
      const name = fresh('owner')
      const user = await newAdmin(world, name)
      await Promise.all([
        outcomeOf(createSession(world.deps, user, { profile, isolation: 'external' })),
        disableUser(world.deps, idle, world.admin, name),
      ])
      const sessions = await store.sessions.list({ ownerId: user.userId, limit: 10 })
      expect(sessions.filter(({ state }) => state !== 'ended')).toEqual([])
    }
  })

  test('a session ended twice at once ends once, with one time', async () => {
    const { name: profile } = await addProfile(world, fresh('profile'))
    for (let round = 0; round < rounds; round++) {
      const input = { profile, isolation: 'external' } as const
      const { session } = await createSession(world.deps, world.alice, input)
      const end = () => endSession(world.deps, idle, world.alice, session.id)
      const [one, two] = await Promise.all([end(), end()])
      expect([one.state, two.state]).toEqual(['ended', 'ended'])
      expect(one.endedAt).toBe(two.endedAt)
    }
  })

  const changes: Readonly<Record<string, (on: Subject) => Promise<unknown>>> = {
    publish: ({ id }) => publishCatalog(world.deps, world.admin, id),
    withdraw: ({ id }) => withdrawCatalog(world.deps, world.admin, id, 1),
    discover: ({ id }) => discover(world, world.admin, { id }, listingOf('get_page', 'x')),
    grant: ({ profile, connection }) =>
      grant(world, world.admin, profile, connection, 'get_page', 'read'),
    revoke: ({ profile, id }) =>
      revokeGrants(world.deps, world.admin, { profile, connection: id, tools: '*' }),
    end: ({ session }) => endSession(world.deps, idle, world.alice, session.id),
    disable: ({ id }) => disableConnection(world.deps, world.admin, id),
    enable: ({ id }) => enableConnection(world.deps, world.admin, id),
    remove: ({ id }) => removeConnection(world.deps, world.admin, id),
    rename: ({ id }) =>
      editConnection(world.deps, world.admin, id, { name: fresh('n') }, destinations),
  }

  /** A session bound to one tool of a connection, whose next revision is reviewed. */
  const subject = async (): Promise<Subject> => {
    const connection = await enabled()
    const { id } = connection
    const { name: profile } = await addProfile(world, fresh('profile'))
    await grant(world, world.admin, profile, connection, 'get_page', 'read')
    const input = { profile, isolation: 'external' } as const
    const { session, bindings } = await createSession(world.deps, world.alice, input)
    await discover(world, world.admin, connection, listingOf('get_page', 'get_more'))
    await reviewCatalog(world.deps, world.admin, id, { ...nothingDecided, include: ['*'] })
    return { id, connection, profile, session, binding: bindings[0] as Binding }
  }

  test('every pair of changes, in both orders, ends without a deadlock and leaves one sense', async () => {
    const refusals = [
      'conflict',
      'not_found',
      'not_published',
      'no_such_tool',
      'nothing_to_publish',
    ]
    for (const [first, one] of Object.entries(changes)) {
      for (const [second, two] of Object.entries(changes)) {
        const on = await subject()
        const outcomes = await Promise.all([outcomeOf(one(on)), outcomeOf(two(on))])
        for (const outcome of outcomes)
          expect(['done', 'mode_mismatch', ...refusals], `${first} ${second}`).toContain(outcome)
        const after = await store.connections.get(on.id)
        if (first === 'remove' || second === 'remove') expect(after?.state).toBe('deleted')
        const catalogs = await store.catalogs.ofConnection(on.id)
        const published = catalogs.filter(({ state }) => state === 'published')
        expect(published.map(({ id }) => id)).toEqual(after?.publishedId ? [after.publishedId] : [])
      }
    }
  })

  test.each(['withdraw', 'revoke', 'grant', 'end', 'disable', 'remove'])(
    'no barrier passes that begins after %s was acknowledged, and none is caught in it',
    async (name) => {
      for (let round = 0; round < rounds; round++) {
        const on = await subject()
        expect(await barrier(store, on)).toBe('passed')
        let isAcknowledged = false
        const changing = (changes[name] as (typeof changes)[string])(on).then(() => {
          isAcknowledged = true
        })
        for (let at = 0; at < 20; at++) {
          const mustRefuse = isAcknowledged
          const outcome = await barrier(store, on)
          if (mustRefuse) expect(outcome).toMatch(refusalsOf[name] as RegExp)
        }
        await changing
        expect(await barrier(store, on)).toMatch(refusalsOf[name] as RegExp)
      }
    },
  )
}

interface Subject {
  readonly id: Connection['id']
  readonly connection: Connection
  readonly profile: string
  readonly session: Session
  readonly binding: Binding
}

/** Whose next call says so. */
const refusalsOf: Readonly<Record<string, RegExp>> = {
  withdraw: /^catalog_withdrawn$/,
  revoke: /^grant_changed$/,
  grant: /^grant_changed$/,
  end: /^session_not_open$/,
  disable: /^connection_disabled$/,
  remove: /^connection_disabled$/,
}

/** What the barrier of a call of that session decides. */
function barrier(store: Store, { binding, session }: Subject): Promise<string> {
  return store.transact(async (tx) => {
    const authority = await tx.lockAuthority(authorityRefs([{ binding, session }]))
    return judge({ binding, session }, authority) ?? 'passed'
  })
}

async function newAdmin({ deps, store }: World, name: string) {
  const userId = deps.ids('user')
  await store.transact(async (tx) => {
    const createdAt = await tx.now()
    await tx.users.insert({ id: userId, name, role: 'admin', createdAt, disabledAt: null })
  })
  return { userId, role: 'admin' } as const
}

async function outcomeOf(work: Promise<unknown>): Promise<'done' | ErrorCode> {
  try {
    await work
    return 'done'
  } catch (thrown) {
    if (thrown instanceof SallyportError) return thrown.code
    throw thrown
  }
}

/** The same store, whose transactions begin when so many are asked for. */
function whenAllAreThere(store: Store, count: number): Store {
  const { promise, resolve } = Promise.withResolvers<void>()
  let waiting = 0
  return Object.assign(Object.create(store) as Store, {
    transact: (async (work, options) => {
      if (++waiting === count) resolve()
      await promise
      return store.transact(work, options)
    }) as Store['transact'],
  })
}
