/** The owner, scripted: decides approvals, and finds out what became of calls whose outcome is unknown. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer } from '@sallyport/protocol'
import { ApiRefusal, type CallApi } from '../harness/call-api.ts'
import type { Random } from '../system/random.ts'
import type { UpstreamProcess } from './upstream-process.ts'

type Decision = 'approve' | 'deny'
type Asked = Pick<Answer<'approval.list'>['items'][number], 'id' | 'sessionId' | 'argumentsDigest'>
export interface Resolution {
  readonly outcome: 'applied' | 'not_applied' | 'abandoned'
  readonly allowRetry: boolean
}

export interface PeopleDeps {
  readonly random: Random
  /** Of a gateway that may be asked now; it may be dead already. */
  readonly api: () => CallApi
  readonly upstream: UpstreamProcess
  /** One write in so many is denied. */
  readonly denyOneIn: number
  /** Sessions whose decisions take longer than their calls are held. */
  readonly slowFor: ReadonlySet<string>
}

const lookEveryMs = 25
const thinkMs = 120
const slowMs = 950
const findOutWithinMs = 90_000
/** What a decision that comes late, or a second time, is told. */
const late: ReadonlySet<string> = new Set(['approval_settled', 'conflict', 'not_unknown'])
/** The database is away; what was asked for may be done or not. */
const unclear: ReadonlySet<string> = new Set(['store_unavailable', 'authority_busy', 'internal'])

export class People {
  /** By approval: decisions that were confirmed. */
  readonly decided = new Map<string, Decision>()
  /** By execution: resolutions that were confirmed. */
  readonly resolved = new Map<string, Resolution>()
  readonly #deps: PeopleDeps
  readonly #deciding = new Set<string>()
  readonly #findings = new Map<string, Promise<void>>()
  #isWorking = true
  readonly #work: Promise<void>

  constructor(deps: PeopleDeps) {
    this.#deps = deps
    this.#work = this.#decideAll()
  }

  async stop(): Promise<void> {
    this.#isWorking = false
    await this.#work
  }

  /** Resolves once the outcome of that execution is known or was resolved. */
  findOut(executionId: string): Promise<void> {
    const found = this.#findings.get(executionId) ?? this.#resolve(executionId)
    this.#findings.set(executionId, found)
    return found
  }

  async #decideAll(): Promise<void> {
    while (this.#isWorking) {
      const pending = await this.#try('approval.list', () =>
        this.#deps.api()('approval.list', { state: 'pending', limit: 1_000 }),
      )
      for (const approval of pending?.items ?? []) void this.#decide(approval)
      await sleep(lookEveryMs)
    }
  }

  async #decide({ id, sessionId, argumentsDigest }: Asked): Promise<void> {
    if (this.#deciding.has(id)) return
    this.#deciding.add(id)
    const { random, api, slowFor } = this.#deps
    const decision = this.#opinionOf(argumentsDigest)
    await sleep(random.below(thinkMs) + (slowFor.has(sessionId) ? slowMs : 0))
    const done = await this.#try(decision, () => api()(`approval.${decision}`, { id }, {}))
    if (done) this.decided.set(id, decision)
    this.#deciding.delete(id)
  }

  /** The same of a write however often it is asked for. */
  #opinionOf(argumentsDigest: string): Decision {
    const { denyOneIn } = this.#deps
    const number = Number.parseInt(argumentsDigest.slice(-6), 16)
    return number % denyOneIn === 0 ? 'deny' : 'approve'
  }

  async #resolve(executionId: string): Promise<void> {
    const { api } = this.#deps
    const until = performance.now() + findOutWithinMs
    while (performance.now() < until) {
      const row = await this.#try('show', () => api()('execution.show', { id: executionId }))
      const isOpen = row === undefined || row.state === 'dispatching' || row.state === 'unknown'
      if (!isOpen) return
      if (row?.state === 'unknown' && (await this.#say(executionId))) return
      await sleep(lookEveryMs)
    }
    throw new Error(`${executionId} is told as unknown and does not become it`)
  }

  async #say(executionId: string): Promise<boolean> {
    const { api } = this.#deps
    const found = await this.#findTruth(executionId)
    const body = { ...found, note: 'looked at the upstream' }
    const done = await this.#try('resolve', () =>
      api()('execution.resolve', { id: executionId }, body),
    )
    if (done) this.resolved.set(executionId, found)
    return done !== undefined
  }

  /** Says what the upstream has counted, or that it does not want to know. */
  async #findTruth(executionId: string): Promise<Resolution> {
    const { upstream, random } = this.#deps
    await upstream.quiet()
    const isApplied = upstream.effects().some(({ execution }) => execution === executionId)
    const chance = random.below(10)
    if (chance === 0) return { outcome: 'abandoned', allowRetry: false }
    if (isApplied) return { outcome: 'applied', allowRetry: false }
    return { outcome: 'not_applied', allowRetry: chance > 3 }
  }

  /** Undefined when it could not be said, or came too late. */
  async #try<T>(what: string, ask: () => Promise<T>): Promise<T | undefined> {
    try {
      return await ask()
    } catch (thrown) {
      const isCut = thrown instanceof TypeError
      const code = thrown instanceof ApiRefusal ? thrown.code : ''
      if (isCut || late.has(code) || unclear.has(code)) return undefined
      throw new Error(`${what} was refused`, { cause: thrown })
    }
  }
}
