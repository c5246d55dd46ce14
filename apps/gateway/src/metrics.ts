/** What Prometheus reads. Labels hold states and names of ours, never anything that came from outside. */
import type { ConditionName, ExecutionState } from '@sallyport/core'
import { connectionConditions, type RouteName } from '@sallyport/protocol'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export interface Metrics {
  /** A call came to an end in this state, so many seconds after it arrived. */
  callEnded(state: ExecutionState, seconds: number): void
  /** One barrier transaction decided about so many calls. */
  barrierGroup(size: number): void
  workerUp(isUp: boolean): void
  guestRequest(status: number): void
  apiRequest(route: RouteName | 'none', status: number, seconds: number): void
  /** Something that is done from time to time could not be done; `chore` is its name. */
  choreFailed(chore: string): void
  /** The text of `/metrics`. What is counted when it is asked for comes with the question. */
  render(counted: Counted): Promise<string>
  readonly contentType: string
}

/** What people have to do, and sessions. */
export interface Counted {
  readonly sessionsOpen: number
  readonly approvalsPending: number
  readonly outcomesUnknown: number
  /** By how they are; those that nobody has looked at are left out. */
  readonly connections: ReadonlyMap<ConditionName, number>
  readonly denySetsStaged: number
}

const callBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

export function createMetrics(): Metrics {
  const register = new Registry()
  collectDefaultMetrics({ register })
  const registers = [register]
  const calls = new Counter({
    name: 'sallyport_calls_total',
    help: 'Calls by the state they ended in.',
    labelNames: ['state'],
    registers,
  })
  const callSeconds = new Histogram({
    name: 'sallyport_call_seconds',
    help: 'From arrival of a call to its outcome.',
    buckets: callBuckets,
    registers,
  })
  const groups = new Histogram({
    name: 'sallyport_barrier_group_size',
    help: 'Calls that were decided in one barrier transaction.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    registers,
  })
  const worker = new Gauge({
    name: 'sallyport_worker_up',
    help: '1 while a worker is connected.',
    registers,
  })
  const setCounted = countedGauges(registers)
  const chores = new Counter({
    name: 'sallyport_chore_failures_total',
    help: 'Failed runs of what the gateway does from time to time.',
    labelNames: ['chore'],
    registers,
  })
  const guest = new Counter({
    name: 'sallyport_guest_requests_total',
    help: 'HTTP exchanges at the guest endpoint.',
    labelNames: ['status'],
    registers,
  })
  const api = new Counter({
    name: 'sallyport_api_requests_total',
    help: 'HTTP exchanges at the control API.',
    labelNames: ['route', 'status'],
    registers,
  })
  const apiSeconds = new Histogram({
    name: 'sallyport_api_request_seconds',
    help: 'How long the control API took to answer.',
    registers,
  })
  return {
    callEnded: (state, seconds) => {
      calls.inc({ state })
      callSeconds.observe(seconds)
    },
    barrierGroup: (size) => groups.observe(size),
    workerUp: (isUp) => worker.set(isUp ? 1 : 0),
    guestRequest: (status) => guest.inc({ status }),
    apiRequest: (route, status, seconds) => {
      api.inc({ route, status })
      apiSeconds.observe(seconds)
    },
    choreFailed: (chore) => chores.inc({ chore }),
    render: (counted) => {
      setCounted(counted)
      return register.metrics()
    },
    contentType: register.contentType,
  }
}

function countedGauges(registers: Registry[]): (counted: Counted) => void {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers })
  const sessions = gauge('sallyport_sessions_open', 'Sessions that are open.')
  const approvals = gauge('sallyport_approvals_pending', 'Writes that wait for a person to decide.')
  const unknown = gauge(
    'sallyport_outcomes_unknown',
    'Writes whose unknown outcome is not resolved.',
  )
  const staged = gauge(
    'sallyport_deny_sets_staged',
    '1 while sandboxes that run have not confirmed the newest deny set.',
  )
  const connections = new Gauge({
    name: 'sallyport_connections',
    help: 'Connections by how they are.',
    labelNames: ['condition'],
    registers,
  })
  return ({ sessionsOpen, approvalsPending, outcomesUnknown, ...more }) => {
    connections.reset()
    for (const condition of connectionConditions)
      connections.set({ condition }, more.connections.get(condition) ?? 0)
    staged.set(more.denySetsStaged)
    sessions.set(sessionsOpen)
    approvals.set(approvalsPending)
    unknown.set(outcomesUnknown)
  }
}
