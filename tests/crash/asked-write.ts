/** One write that a test asks for, decides and follows, at the gateway it names. */

import type { OpenSession } from '../harness/setup-connection.ts'
import { eventually } from '../system/eventually.ts'
import { argumentsDigest, type Row } from '../system/journal.ts'
import { type CallAnswer, type Era, RawGuest } from '../system/raw-guest.ts'
import type { CrashWorld } from './crash-world.ts'
import type { GatewayHost } from './gateway-host.ts'

export class AskedWrite {
  readonly id: string
  readonly session: OpenSession
  readonly era: Era
  readonly #world: CrashWorld

  constructor(world: CrashWorld, id: string, session: OpenSession, era: Era = 'legacy') {
    this.#world = world
    this.id = id
    this.session = session
    this.era = era
  }

  /** `cut off` when no answer comes. */
  ask(host: GatewayHost = this.#world.hosts[0]): Promise<CallAnswer | 'cut off'> {
    const endpoint = `${host.sallyport.guestUrl}/mcp/counted`
    const { token } = this.session
    return new RawGuest({ endpoint, token, era: this.era })
      .call('store', JSON.stringify({ id: this.id }))
      .catch((thrown) => {
        if (thrown instanceof TypeError) return 'cut off'
        throw thrown
      })
  }

  /** Its rows, oldest first. */
  async rows(host: GatewayHost = this.#world.hosts[0]): Promise<Row[]> {
    const digest = argumentsDigest({ id: this.id })
    const query = { session: this.session.id, limit: 1_000 }
    const { items } = await host.sallyport.api('execution.list', query)
    return items.filter((row) => row.argumentsDigest === digest).reverse()
  }

  /** Resolves with the newest of its rows that is in that state, once one is. */
  async row(state: Row['state'], host?: GatewayHost, ms = 10_000): Promise<Row> {
    const find = (rows: readonly Row[]) => rows.findLast((row) => row.state === state)
    const rows = await eventually(
      () => this.rows(host),
      (found) => find(found) !== undefined,
      ms,
    )
    return find(rows) as Row
  }

  /** Resolves once somebody was asked and has approved. */
  async approve(host: GatewayHost = this.#world.hosts[0]): Promise<void> {
    const { approvalId } = await this.row('awaiting_approval', host)
    await host.sallyport.api('approval.approve', { id: String(approvalId) }, {})
  }

  async resolve(
    outcome: 'applied' | 'not_applied',
    allowRetry: boolean,
    host: GatewayHost = this.#world.hosts[0],
  ): Promise<void> {
    const { id } = await this.row('unknown', host)
    const body = { outcome, allowRetry, note: 'looked at the upstream' }
    await host.sallyport.api('execution.resolve', { id }, body)
  }

  /** How often it took effect. */
  get effects(): number {
    return this.#world.upstream.effects().filter(({ id }) => id === this.id).length
  }
}

export const codeOf = (answer: CallAnswer | 'cut off'): string =>
  answer === 'cut off' ? answer : (answer.failure?.code ?? answer.text)
