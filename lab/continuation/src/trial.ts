/** One trial: a real client runs, its model asks for a write, and the answer to that write is long in coming. */
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { ClientRun, GuestServer, Job } from '../../../tests/clients/client-run.ts'
import { type FakeModel, startFakeModel } from '../../../tests/clients/fake-model.ts'
import { ApiRefusal } from '../../../tests/harness/call-api.ts'
import type { LabWorld } from './lab-world.ts'
import { classify, type Outcome } from './outcome.ts'

export interface Harness {
  readonly name: string
  readonly version: string
  readonly program: string
  start(job: Job): Promise<ClientRun>
}

/** `signs`: through Sallyport, which shows signs of life. `silent`: from a server that says nothing until it answers. */
export type Way = 'signs' | 'silent'

/** What a turn took of its model; of a fake one, so bytes stand for tokens. */
interface Cost {
  readonly requests: number
  readonly bytes: number
}

export interface HeldTrial {
  readonly outcome: Outcome
  readonly heldMs: number
  /** From the decision to the arrival of the next step at the server; undefined when there was none. */
  readonly resumeMs: number | undefined
  readonly model: Cost
}

export interface ColdTrial {
  /** The first call of the next turn was given the outcome of the first turn's. */
  readonly matched: boolean
  /** Somebody had to be asked a second time. */
  readonly askedAgain: boolean
  /** Writes that reached the server. */
  readonly effects: number
  /** From the start of the next turn to the arrival of its next step at the server. */
  readonly resumeMs: number | undefined
  readonly model: Cost
}

/** Beside what is waited for: to start, to ask, to end. Generous, since the machine may be busy. */
const runBeyondMs = 120_000
const lookEveryMs = 50

export interface Holding {
  readonly way: Way
  readonly holdMs: number
  /** What the client is told to wait for one call; its own default when not given. */
  readonly callLimitMs?: number | undefined
}

export async function heldTrial(
  world: LabWorld,
  harness: Harness,
  { way, holdMs, callLimitMs }: Holding,
): Promise<HeldTrial> {
  const id = randomUUID()
  const model = await startFakeModel()
  const session = way === 'signs' ? await world.openSession('warm') : undefined
  const server = session ?? world.bare
  const limits = { ...(callLimitMs === undefined ? {} : { callLimitMs }) }
  const client = await begin(harness, model, server, id, {
    ...limits,
    runLimitMs: holdMs + runBeyondMs,
  })
  try {
    const running = watch(client)
    const came = async () => (world.seen(id).calls > 0 ? performance.now() : undefined)
    const cameAt = await until(running, came)
    const gaveUp = (await until(running, async () => toldOf(model, id), holdMs)) !== undefined
    const decidedAt = performance.now()
    // As long as the client is there: one that came again asks for a decision again.
    await until(running, () => decide(world, id, session?.id))
    return {
      outcome: classify({
        ...world.seen(id),
        refused: session !== undefined && (await isRefused(world, session.id)),
        asked: timesAsked(model, id),
        told: toldOf(model, id),
        wentOn: world.calls.count(nextOf(id)) > 0,
        answer: world.calls.answerTo(id),
      }),
      heldMs: decidedAt - (cameAt ?? decidedAt),
      resumeMs: gaveUp ? undefined : since(decidedAt, world.calls.cameAt(nextOf(id))),
      model: costOf(model),
    }
  } finally {
    world.calls.release(id)
    await client.remove()
    await model.close()
    if (session) await world.sallyport.api('session.end', { id: session.id }, {})
  }
}

/** The turn ends without the outcome; it is decided while nobody is there; the next turn begins in a new process. */
export async function coldTrial(world: LabWorld, harness: Harness): Promise<ColdTrial> {
  const id = randomUUID()
  const model = await startFakeModel()
  const session = await world.openSession('cold')
  const limit = { runLimitMs: runBeyondMs }
  const runs: ClientRun[] = []
  try {
    const first = await begin(harness, model, session, id, limit)
    runs.push(first)
    await first.ended
    const approvals = async () =>
      (await world.sallyport.api('approval.list', { session: session.id })).items
    const before = (await approvals()).length
    await decide(world, id, session.id)
    const [firstNext, startedAt] = [world.calls.count(nextOf(id)), performance.now()]
    const second = await begin(harness, model, session, id, limit)
    runs.push(second)
    const nextCame = () => world.calls.count(nextOf(id)) > firstNext
    const came = await until(watch(second), async () =>
      nextCame() ? performance.now() : undefined,
    )
    await second.ended
    return {
      matched: JSON.stringify(model.results()?.[0] ?? '').includes(world.calls.answerTo(id)),
      askedAgain: (await approvals()).length > before,
      effects: world.calls.count(id),
      resumeMs: came === undefined ? undefined : came - startedAt,
      model: costOf(model),
    }
  } finally {
    for (const run of runs) await run.remove()
    await model.close()
    await world.sallyport.api('session.end', { id: session.id }, {})
  }
}

const nextOf = (id: string) => `after-${id}`
const since = (from: number, to: number | undefined) => (to === undefined ? undefined : to - from)

function begin(
  harness: Harness,
  model: FakeModel,
  server: GuestServer,
  id: string,
  limits: Pick<Job, 'callLimitMs' | 'runLimitMs'>,
): Promise<ClientRun> {
  const steps = [`@call lab:store {"id":"${id}"}`, `@call lab:look {"id":"${nextOf(id)}"}`]
  const prompt = `Do this:\n${steps.join('\n')}`
  return harness.start({ program: harness.program, prompt, modelUrl: model.url, server, ...limits })
}

interface Running {
  ended: boolean
}

function watch({ ended }: ClientRun): Running {
  const running = { ended: false }
  void ended.then(() => {
    running.ended = true
  })
  return running
}

/** What `look` finds, or undefined once the client has ended or the time is over. */
async function until<T>(
  running: Running,
  look: () => Promise<T | undefined>,
  ms = Number.POSITIVE_INFINITY,
): Promise<T | undefined> {
  const deadline = performance.now() + ms
  for (;;) {
    const found = await look()
    if (found !== undefined || running.ended || performance.now() >= deadline) return found
    await wait(Math.min(lookEveryMs, Math.max(0, deadline - performance.now())))
  }
}

async function pendingIn({ sallyport }: LabWorld, session: string): Promise<string | undefined> {
  const { items } = await sallyport.api('approval.list', { state: 'pending', session })
  return (items.find(({ caller }) => caller === 'attached') ?? items[0])?.id
}

/** A call that its client took back is refused by the client's word, not by ours. */
async function isRefused({ sallyport }: LabWorld, session: string): Promise<boolean> {
  const { items } = await sallyport.api('execution.list', { session })
  return items.some(
    ({ tool, state, code }) =>
      tool === 'store' &&
      ((state === 'refused' && code !== 'call_cancelled') ||
        ['tool_error', 'not_sent', 'lost', 'unknown'].includes(state)),
  )
}

/** Approves what waits now, if anything does. */
async function decide(
  world: LabWorld,
  id: string,
  session: string | undefined,
): Promise<undefined> {
  if (session === undefined) return void world.calls.release(id)
  const pending = await pendingIn(world, session)
  if (pending === undefined) return undefined
  try {
    await world.sallyport.api('approval.approve', { id: pending }, {})
  } catch (thrown) {
    // Its client took it back between the two requests.
    if (!(thrown instanceof ApiRefusal && thrown.status === 409)) throw thrown
  }
  return undefined
}

function callsOf(model: FakeModel, id: string) {
  return model.requests.filter(
    ({ decision }) =>
      decision?.kind === 'call' && decision.tool.deferred !== true && decision.args['id'] === id,
  )
}

const timesAsked = (model: FakeModel, id: string): number => callsOf(model, id).length

/** What the request says that follows the call: whether it was answered is found in it whole. */
function toldOf(model: FakeModel, id: string): string | undefined {
  const results = model.results()
  if (results) return JSON.stringify(results[0] ?? '')
  const [next] = callsOf(model, nextOf(id))
  return next && JSON.stringify(next.body)
}

function costOf({ requests }: FakeModel): Cost {
  const bytes = requests.map(({ body }) => Buffer.byteLength(JSON.stringify(body)))
  return { requests: requests.length, bytes: bytes.reduce((sum, one) => sum + one, 0) }
}
