/**
 * The load client, a process of its own: a closed loop on so many connections, every answer checked. Takes a job as
 * JSON in its first argument, prints what it measured as JSON.
 */
import { availableParallelism } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { type Answer, Connection } from './connection.ts'
import { type Call, callMaker, methodHeaders, type Payload } from './rpc.ts'
import { percentile } from './statistics.ts'
import { machineBusyMs, type Usage, usageOf } from './usage.ts'

export interface LoadJob {
  readonly url: string
  /** Beside those of the protocol. */
  readonly headers: Readonly<Record<string, string>>
  readonly tool: string
  readonly payload: Payload
  readonly concurrency: number
  readonly warmMs: number
  readonly measureMs: number
  /** Roots of the process trees that serve it, by name; one may be below another. */
  readonly servers: Readonly<Record<string, number>>
}

export interface ServerCost {
  readonly cpuUsPerCall: number
  readonly rssMib: number
}

export interface LoadResult {
  readonly calls: number
  readonly callsPerSecond: number
  readonly p50: number
  readonly p99: number
  readonly clientUsPerCall: number
  readonly servers: Readonly<Record<string, ServerCost>>
  /** Share of the machine that was used by nobody who belongs here. */
  readonly foreign: number
}

const cores = availableParallelism()

async function run(job: LoadJob): Promise<LoadResult> {
  const latencies: number[] = []
  const state = { measuring: false, stopped: false }
  const lanes = await openLanes(job)
  const running = lanes.map((lane) => loop(lane, state, latencies))
  // A lane that fails ends the whole run with its error.
  await Promise.race([wait(job.warmMs), ...running])
  const before = snapshot(job)
  state.measuring = true
  await Promise.race([wait(job.measureMs), ...running])
  state.measuring = false
  const result = compare(before, snapshot(job), latencies)
  state.stopped = true
  await Promise.all(running)
  for (const lane of lanes) lane.connection.close()
  return result
}

interface Lane {
  readonly connection: Connection
  next(): Call
}

async function openLanes(job: LoadJob): Promise<Lane[]> {
  const make = callMaker(job.tool, job.payload)
  let id = 0
  const headers = { ...methodHeaders('tools/call', job.tool), ...job.headers }
  const lanes = Array.from({ length: job.concurrency }, async () => {
    const connection = await Connection.open(new URL(job.url), headers)
    return { connection, next: () => make(++id) }
  })
  return Promise.all(lanes)
}

function loop(
  lane: Lane,
  state: { readonly measuring: boolean; readonly stopped: boolean },
  latencies: number[],
): Promise<void> {
  return new Promise((resolve, reject) => {
    const turn = (): void => {
      if (state.stopped) {
        resolve()
        return
      }
      const call = lane.next()
      const start = performance.now()
      lane.connection.send(call.body, (error, answer) => {
        if (state.measuring) latencies.push(performance.now() - start)
        const problem = error ?? problemOf(answer, call.nonce)
        if (problem) reject(problem)
        else turn()
      })
    }
    turn()
  })
}

function problemOf(answer: Answer | undefined, nonce: string): Error | undefined {
  const { status = 0, body = Buffer.alloc(0) } = answer ?? {}
  const isRight = status === 200 && body.includes(nonce) && !body.includes('"isError":true')
  return isRight ? undefined : new Error(`wrong answer ${status}: ${body.toString('utf8', 0, 400)}`)
}

interface Snapshot {
  readonly at: number
  readonly busyMs: number
  readonly clientMs: number
  readonly servers: Readonly<Record<string, Usage>>
}

function snapshot(job: LoadJob): Snapshot {
  const { user, system } = process.cpuUsage()
  const pids = Object.values(job.servers)
  const servers = Object.entries(job.servers).map(([name, pid]) => [name, usageOf(pid, pids)])
  return {
    at: performance.now(),
    busyMs: machineBusyMs(),
    clientMs: (user + system) / 1000,
    servers: Object.fromEntries(servers),
  }
}

function compare(before: Snapshot, after: Snapshot, latencies: readonly number[]): LoadResult {
  const calls = latencies.length
  const elapsedMs = after.at - before.at
  const clientMs = after.clientMs - before.clientMs
  let ourMs = clientMs
  const servers: Record<string, ServerCost> = {}
  for (const [name, usage] of Object.entries(after.servers)) {
    const cpuMs = usage.cpuMs - (before.servers[name]?.cpuMs ?? 0)
    ourMs += cpuMs
    servers[name] = { cpuUsPerCall: (cpuMs * 1000) / calls, rssMib: usage.rssMib }
  }
  const foreignMs = Math.max(0, after.busyMs - before.busyMs - ourMs)
  return {
    calls,
    callsPerSecond: (calls / elapsedMs) * 1000,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    clientUsPerCall: (clientMs * 1000) / calls,
    servers,
    foreign: foreignMs / (cores * elapsedMs),
  }
}

if (import.meta.main) {
  const result = await run(JSON.parse(process.argv[2] as string))
  process.stdout.write(`${JSON.stringify(result)}\n`)
}
