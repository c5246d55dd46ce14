import type { Authority, AuthorityRefs } from '@sallyport/core'
import { type ExecutionId, SallyportError } from '@sallyport/protocol'
import {
  type AuthorityKind,
  type AuthorityRows,
  authorityOf,
  barrierStatements,
  changeStatements,
  noRows,
  pauseForBarrier,
  pauseForChange,
  readPause,
} from '../sql/authority.ts'
import type { Kept } from '../sql/driver.ts'
import type { TxLocks } from '../sql/sql-nouns.ts'
import { allInOrder } from './all-in-order.ts'
import { changeWaitMs } from './connect-postgres.ts'
import { isLockTimeout } from './postgres-error.ts'
import { channel, idsAtMost } from './postgres-listener.ts'
import type { PostgresTx } from './postgres-tx.ts'

/** A call waits this long for a change of what it needs; then it is refused instead. */
const barrierWaitMs = 200

const waiting = { kinds: barrierStatements(), pause: pauseForBarrier() }
const skipping = {
  kinds: barrierStatements(' SKIP LOCKED'),
  pause: pauseForBarrier(' SKIP LOCKED'),
}
const announce = `SELECT pg_notify(${channel}, $1)`
const clock = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

interface Locked {
  readonly pause: Kept | undefined
  readonly rows: AuthorityRows
}

/** Row locks of authority, always in one order, so that no two transactions wait for each other. */
export class PostgresLocks implements TxLocks {
  readonly #tx: PostgresTx
  #now: Promise<number> | undefined

  constructor(tx: PostgresTx) {
    this.#tx = tx
  }

  async announce(ids: readonly ExecutionId[]): Promise<void> {
    if (ids.length === 0) return
    await this.#tx.rows(announce, [ids.length > idsAtMost ? 'all' : ids.join(' ')])
  }

  now(): Promise<number> {
    this.#now ??= this.#tx.rows(clock, []).then(([row]) => row?.[0] as number)
    return this.#now
  }

  async lockAuthority(refs: AuthorityRefs): Promise<Authority> {
    const whole = await this.#lockAll(refs)
    const locked = whole ?? (await this.#lock(refs, skipping))
    const busy = whole ? new Set<string>() : await this.#busy(refs, locked)
    return authorityOf(await this.now(), locked.rows, readPause(locked.pause), busy)
  }

  /** Undefined when something could not be locked in time; then nothing is. */
  async #lockAll(refs: AuthorityRefs): Promise<Locked | undefined> {
    try {
      return await this.#tx.saved(async () => {
        const [, locked] = await allInOrder([
          this.#tx.sendText(`SET LOCAL lock_timeout = ${barrierWaitMs}`),
          this.#lock(refs, waiting),
          this.#tx.sendText(`SET LOCAL lock_timeout = ${changeWaitMs}`),
        ])
        return locked
      })
    } catch (error) {
      if (isLockTimeout(error)) return undefined
      throw this.#tx.fail(error)
    }
  }

  /** Sent at once; the server takes them one after the other, in this order. */
  async #lock(refs: AuthorityRefs, statements: typeof waiting): Promise<Locked> {
    const wanted = statements.kinds.filter(({ kind }) => refs[kind].length > 0)
    const [pause, ...found] = await allInOrder([
      this.#tx.send(statements.pause, []),
      ...wanted.map(({ kind, lock }) => this.#tx.send(lock, [refs[kind]])),
    ])
    const rows = noRows()
    wanted.forEach(({ kind }, i) => {
      rows[kind] = found[i]?.rows ?? []
    })
    return { pause: pause?.rows[0], rows }
  }

  /** What exists and is held by a change. While the pause itself is being changed, that is everything. */
  async #busy(refs: AuthorityRefs, { pause, rows }: Locked): Promise<ReadonlySet<string>> {
    if (!pause) return new Set(Object.values(refs).flat() as string[])
    const busy = new Set<string>()
    for (const { kind, table } of skipping.kinds) {
      const missing = idsMissing(refs, rows, kind)
      if (missing.length === 0) continue
      const sql = `SELECT id FROM ${table} WHERE id = ANY($1)`
      for (const [id] of await this.#tx.rows(sql, [missing])) busy.add(id as string)
    }
    return busy
  }

  async lockForChange(refs: Partial<AuthorityRefs> & { readonly pause?: true }): Promise<void> {
    const wanted = changeStatements.filter(({ kind }) => (refs[kind]?.length ?? 0) > 0)
    try {
      await allInOrder([
        ...(refs.pause ? [this.#tx.send(pauseForChange, [])] : []),
        ...wanted.map(({ kind, lock }) => this.#tx.send(lock, [refs[kind] ?? []])),
      ])
    } catch (error) {
      const failure = this.#tx.fail(error)
      throw isLockTimeout(error) ? new SallyportError('authority_busy', { cause: error }) : failure
    }
  }
}

function idsMissing(refs: AuthorityRefs, rows: AuthorityRows, kind: AuthorityKind): string[] {
  const found = new Set(rows[kind].map(([id]) => id))
  return refs[kind].filter((id) => !found.has(id))
}
