/** What Prometheus reads. Labels hold states and names of ours, never anything that came from outside. */
import type { ExecutionState } from '@sallyport/core'
import type { RouteName } from '@sallyport/protocol'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export interface Metrics {
  /** A call came to an end in this state, so many seconds after it arrived. */
  callEnded(state: ExecutionState, seconds: number): void
  /** One barrier transaction decided about so many calls. */
  barrierGroup(size: number): void
  workerUp(isUp: boolean): void
  guestRequest(status: number): void
  apiRequest(route: RouteName | 'none', status: number, seconds: number): void
  /** The text of `/metrics`. `sessionsOpen` is counted when it is asked for. */
  render(sessionsOpen: number): Promise<string>
  readonly contentType: string
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
  const sessions = new Gauge({
    name: 'sallyport_sessions_open',
    help: 'Sessions that are open.',
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
    render: (sessionsOpen) => {
      sessions.set(sessionsOpen)
      return register.metrics()
    },
    contentType: register.contentType,
  }
}
