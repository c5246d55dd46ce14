/** Hears what other gateways announced, on a connection of its own. */
import { setTimeout as delay } from 'node:timers/promises'
import type { ExecutionId } from '@sallyport/protocol'
import type { PoolClient } from 'pg'
import { Announcements, type Heard } from '../announcements.ts'
import { connectPostgres, type PostgresOptions } from './connect-postgres.ts'

/** One word for each schema of the database, as short as a channel must be. */
export const channel = "'sallyport_' || to_hex(hashtextextended(current_schema(), 0))"
/** Payloads are shorter than 8000 bytes; beyond this many ids it is told that there were some. */
export const idsAtMost = 200

const firstPauseMs = 50
const longestPauseMs = 5000
/** A server that went away without a word would never be noticed by who only listens. */
const askEveryMs = 10_000

export class PostgresListener {
  readonly #options: PostgresOptions
  readonly #announcements = new Announcements()
  readonly #ended = new AbortController()
  #running: Promise<void> | undefined

  constructor(options: PostgresOptions) {
    this.#options = options
  }

  /** The first one opens the connection. */
  listen(hear: (heard: Heard) => void): () => void {
    const stop = this.#announcements.listen(hear)
    this.#running ??= this.#run()
    return stop
  }

  async end(): Promise<void> {
    this.#announcements.end()
    this.#ended.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const pool = connectPostgres({ ...this.#options, connections: 1 })
    let pauseMs = firstPauseMs
    while (!this.#ended.signal.aborted) {
      try {
        const client = await pool.connect()
        await this.#hear(client, () => {
          pauseMs = firstPauseMs
        })
      } catch {
        // The server is away: who listens is told of everything that may have been missed once it is back.
      }
      await pause(pauseMs, this.#ended.signal)
      pauseMs = Math.min(pauseMs * 2, longestPauseMs)
    }
    await pool.end()
  }

  /** Until the connection is lost, or this one is ended. */
  async #hear(client: PoolClient, begun: () => void): Promise<void> {
    const lost = new AbortController()
    const lose = () => lost.abort()
    client.on('end', lose).on('error', lose)
    client.on('notification', ({ payload = '' }) => this.#announcements.tell(heard(payload)))
    const asking = setInterval(() => client.query('SELECT 1').catch(lose), askEveryMs)
    try {
      const { rows } = await client.query<{ name: string }>(`SELECT ${channel} AS name`)
      await client.query(`LISTEN ${rows[0]?.name}`)
      begun()
      this.#announcements.tell('all')
      await aborted(AbortSignal.any([this.#ended.signal, lost.signal]))
    } finally {
      clearInterval(asking)
      client.release(true)
    }
  }
}

function heard(payload: string): Heard {
  return payload === 'all' ? payload : (payload.split(' ') as ExecutionId[])
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Ends early, without a word, when the signal says so. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  // Of its two ends the early one is a rejection; both are an end.
  return delay(ms, undefined, { signal }).catch(() => {})
}
