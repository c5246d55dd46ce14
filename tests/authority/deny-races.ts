/** Sandboxes that open while a deny set comes into force, on a real store: whatever the order, what is open is kept from it. */
import {
  bringDenySet,
  coversAll,
  createSession,
  enableConnection,
  endSession,
  isKept,
  placesOf,
  type Store,
  showEvidence,
} from '@sallyport/core'
import { SallyportError } from '@sallyport/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sampleEvidence, samplePlan } from '../../packages/protocol/src/sandbox/sample-sandbox.ts'
import { addConnection, addProfile, listingOf, newWorld, publish, type World } from './world.ts'

const rounds = 20
const idle = { settleSession: async () => {} }
const owner = { pid: 5, boot: 'b', namespace: 'pid:[1]', start: '3' }
const sandbox = { plan: samplePlan, owner }

/** `open` gives a store whose rows nobody else uses. */
export function denyRaces(open: () => Promise<Store>): void {
  let store: Store
  let world: World
  beforeAll(async () => {
    store = await open()
    world = await newWorld(store)
    await addProfile(world, 'p', { isolation: ['bubblewrap'] })
  })
  afterAll(() => store.close())

  const bring = () => bringDenySet(world.deps, idle)
  const reviewed = async (name: string) => {
    const [scope, url] = [`project:${name}`, `https://${name}.example/mcp`]
    const connection = await addConnection(world, world.admin, { name, scope, url })
    await publish(world, world.admin, connection, listingOf('get_page'))
    return connection
  }

  test('no sandbox is open that is not kept from what is in force, and no connection enabled that it does not name', async () => {
    const orders = new Set<string>()
    for (let round = 0; round < rounds; round++) {
      const created = await createSession(world.deps, world.alice, {
        ...{ profile: 'p', isolation: 'bubblewrap', sandbox },
      })
      const { revision, digest } = created.denySet
      const connection = await reviewed(`race-${round}`)
      const shown = { ownerKey: created.ownerKey ?? '', evidence: sampleEvidence }
      const { id } = created.session
      const [opened] = await Promise.all([
        codeOf(
          showEvidence(world.deps, idle, world.alice, id, {
            ...shown,
            denySet: { revision, digest },
          }),
        ),
        later(round).then(bring),
        later(round + 1).then(bring),
        codeOf(enableConnection(world.deps, world.admin, connection.id)),
      ])
      const isOpen = (await store.sessions.get(id))?.state === 'open'
      expect(isOpen).toBe(opened === undefined)
      if (isOpen) expect(await isKept(store, id)).toBe(true)
      else expect(['deny_set_mismatch', 'deny_set_unconfirmed']).toContain(opened)
      const now = await store.connections.get(connection.id)
      const isNamed = coversAll(await store.denials.published(), placesOf(connection, undefined))
      if (now?.state === 'enabled') expect(isNamed).toBe(true)
      orders.add(opened ?? 'open')
      await endSession(world.deps, idle, world.alice, id)
      expect(await bring()).toBe('in_force')
    }
    console.info(`what came of ${rounds} sandboxes: ${[...orders].join(', ')}`)
  })
}

/** So many turns of the event loop, of a few: the two sides meet at other places. */
async function later(round: number): Promise<void> {
  for (let turn = 0; turn < (round % 8) * 3; turn++) await new Promise((go) => setImmediate(go))
}

async function codeOf(work: Promise<unknown>): Promise<string | undefined> {
  try {
    await work
    return undefined
  } catch (thrown) {
    if (thrown instanceof SallyportError) return thrown.code
    throw thrown
  }
}
