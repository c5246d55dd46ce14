/**
 * The whole way of a write that a person decides about, with a real client: it reads, asks for a write, is kept waiting,
 * and reads again. A client that is told to come back, or that gave up, asks for the same once more.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Answer, ProfileSettings } from '@sallyport/protocol'
import { ApiRefusal } from '../harness/call-api.ts'
import type { Sallyport } from '../harness/start-sallyport.ts'
import { type ScriptedTool, text } from '../upstreams/scripted-upstream.ts'
import { type AgentName, agents } from './agents.ts'
import type { ClientRun, Ended } from './client-run.ts'
import { type GovernedRun, startGovernedRun } from './governed-run.ts'

export const counterIs = (count: number) => `The counter is at ${count}.`
export const added = 'One was added.'

export interface Decision {
  /** `leave`: nobody decides. */
  readonly verb: 'approve' | 'deny' | 'leave'
  /** Counted from the moment the first approval is pending. */
  readonly afterMs: number
  /** How long the client waits for one call; its own limit when not given. */
  readonly callLimitMs?: number
  readonly settings?: Partial<ProfileSettings>
}

export interface DecidedWrite {
  /** As the model received them. */
  readonly results: unknown[]
  readonly approvals: Answer<'approval.list'>['items']
  /** Oldest first. */
  readonly executions: Answer<'execution.list'>['items']
  /** Calls of the write that reached the upstream. */
  readonly writes: number
  readonly ended: Ended
}

export async function decideWrite(
  name: AgentName,
  program: string,
  decision: Decision,
): Promise<DecidedWrite> {
  const run = await startGovernedRun({
    granted: ['read'],
    writes: [{ tool: 'add', mode: 'write_with_approval' }],
    tools: counterFromZero(),
    ...(decision.settings ? { settings: decision.settings } : {}),
  })
  try {
    const server = await run.openSession()
    const client = await agents[name].start({
      program,
      prompt: 'Do this:\n@call lab:read {}\n@collect lab:add {"by":1}\n@call lab:read {}',
      modelUrl: run.model.url,
      server,
      runLimitMs: decision.afterMs + 90_000,
      ...(decision.callLimitMs === undefined ? {} : { callLimitMs: decision.callLimitMs }),
    })
    try {
      await decide(run.sallyport, client, server.id, decision)
      return await whatCameOfIt(run, server.id, await client.ended)
    } finally {
      await client.remove()
    }
  } finally {
    await run.remove()
  }
}

function counterFromZero(): ScriptedTool[] {
  let count = 0
  const properties = { by: { type: 'integer' } }
  return [
    {
      name: 'read',
      description: 'Reads the counter.',
      inputSchema: { type: 'object', properties: {} },
      annotations: { readOnlyHint: true },
      run: () => text(counterIs(count)),
    },
    {
      name: 'add',
      description: 'Adds to the counter.',
      inputSchema: { type: 'object', properties, required: ['by'] },
      run: ({ arguments: { by } }) => {
        count += Number(by)
        return text(added)
      },
    },
  ]
}

/**
 * A client that gave up and said so took its approval back, and asks for a new one. So in the end whichever is pending is
 * decided, as a person would: that of a caller who is still there, if there is one.
 */
async function decide(
  { api }: Sallyport,
  client: ClientRun,
  session: string,
  { verb, afterMs }: Decision,
): Promise<void> {
  if (verb === 'leave') return
  let ended: Ended | undefined
  void client.ended.then((end) => {
    ended = end
  })
  const pending = async () => {
    while (!ended) {
      const { items } = await api('approval.list', { state: 'pending', session })
      const one = items.find(({ caller }) => caller === 'attached') ?? items[0]
      if (one) return one.id
      await wait(50)
    }
    throw new Error(`the client ended before anybody decided\n${ended.stdout}\n${ended.stderr}`)
  }
  await pending()
  await wait(afterMs)
  for (;;) {
    try {
      await api(
        verb === 'approve' ? 'approval.approve' : 'approval.deny',
        { id: await pending() },
        {},
      )
      return
    } catch (thrown) {
      // Taken back between the two requests.
      if (!(thrown instanceof ApiRefusal && thrown.status === 409)) throw thrown
    }
  }
}

async function whatCameOfIt(
  { sallyport: { api }, model, upstream }: GovernedRun,
  session: string,
  ended: Ended,
): Promise<DecidedWrite> {
  const approvals = await api('approval.list', { session })
  const executions = await api('execution.list', { session })
  const calls = upstream.requests.filter(({ method }) => method === 'tools/call')
  return {
    results: model.results() ?? [],
    approvals: approvals.items,
    executions: executions.items.toReversed(),
    writes: calls.filter(({ text }) => JSON.parse(text).params.name === 'add').length,
    ended,
  }
}
