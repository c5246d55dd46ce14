/** Worlds on a real Postgres: one server for a file, whose tables are emptied after each world. */
import type { Store, Tx } from '@sallyport/core'
import { openPostgresStore } from '@sallyport/store'
import pg from 'pg'
import * as tables from '../../packages/store/src/rows/tables.ts'
import { startPostgres } from '../postgres/start-postgres.ts'
import { Clock, type Wanted, type World, worldOn } from './call-world.ts'

export interface PostgresWorlds {
  /** `rival` is a gateway with connections of its own to the same database. */
  open(wanted?: Wanted): Promise<{ readonly world: World; readonly rival: World }>
  stop(): Promise<void>
}

export async function startPostgresWorlds(): Promise<PostgresWorlds> {
  const { url, stop } = await startPostgres()
  const janitor = new pg.Client({ connectionString: url })
  await janitor.connect()
  const options = { url, schema: 'calls', connections: 5 }
  return {
    async open(wanted) {
      const clock = new Clock()
      const [store, other] = [await openPostgresStore(options), await openPostgresStore(options)]
      const world = await worldOn(stepped(store, clock), clock, wanted, async () => {
        await Promise.all([store.close(), other.close()])
        await janitor.query(emptied)
      })
      return { world, rival: world.over(stepped(other, clock)) }
    },
    async stop() {
      await janitor.end()
      await stop()
    },
  }
}

const emptied = Object.values(tables)
  .filter(({ name }) => name !== 'settings')
  .map(({ name }) => `DELETE FROM calls.${name};`)
  .concat('UPDATE calls.settings SET value = NULL')
  .join('')

/** Its transactions read the test's clock instead of the server's, which nobody can step. */
function stepped(store: Store, { now }: Clock): Store {
  const ofTx = (tx: Tx): Tx =>
    new Proxy(tx, {
      get(target, name) {
        if (name === 'now') return async () => now()
        if (name === 'lockAuthority')
          return async (...args: Parameters<Tx['lockAuthority']>) => ({
            ...(await target.lockAuthority(...args)),
            now: now(),
          })
        const value = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  return new Proxy(store, {
    get: (target, name, receiver) =>
      name === 'transact'
        ? (...[work, options]: Parameters<Store['transact']>) =>
            target.transact((tx) => work(ofTx(tx)), options)
        : Reflect.get(target, name, receiver),
  })
}
