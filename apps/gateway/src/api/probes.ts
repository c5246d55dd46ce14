/** What is asked without a token, by whatever supervises: is it alive, is it ready, how is it doing. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ConditionName } from '@sallyport/core'
import { SallyportError, toSallyportError } from '@sallyport/protocol'
import type { ProbeDeps } from './api-deps.ts'
import { writeJson, writeText } from './write-answer.ts'

type Probe = (response: ServerResponse, deps: ProbeDeps) => void | Promise<void>

const probes: Readonly<Record<string, Probe>> = {
  '/healthz': (response) => writeJson(response, 200, { status: 'ok' }),
  '/readyz': ready,
  '/metrics': async (response, { store, worker, metrics }) => {
    metrics.workerUp(worker.info().state === 'up')
    const [sessionsOpen, approvalsPending, outcomesUnknown, told, newest] = await Promise.all([
      store.sessions.count('open'),
      store.approvals.count('pending'),
      store.executions.count('unknown'),
      store.conditions.list(),
      store.denials.newest(),
    ])
    const connections = new Map<ConditionName, number>()
    for (const { condition } of told)
      connections.set(condition, (connections.get(condition) ?? 0) + 1)
    const counted = { sessionsOpen, approvalsPending, outcomesUnknown, connections }
    const denySetsStaged = newest?.state === 'staged' ? 1 : 0
    const text = await metrics.render({ ...counted, denySetsStaged })
    writeText(response, 200, metrics.contentType, text)
  },
}

/** False when the path is no probe. Throws `method_not_allowed`. */
export async function serveProbe(
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  deps: ProbeDeps,
): Promise<boolean> {
  const probe = Object.hasOwn(probes, path) ? probes[path] : undefined
  if (!probe) return false
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD')
    throw new SallyportError('method_not_allowed')
  }
  await probe(response, deps)
  return true
}

async function ready(response: ServerResponse, { store, worker, self }: ProbeDeps): Promise<void> {
  const { state, release, build, isolation } = worker.info()
  const storeCode = await store.ping().then(
    () => null,
    (thrown: unknown) => toSallyportError(thrown).code,
  )
  const isReady = state === 'up' && release === self.release && storeCode === null
  writeJson(response, isReady ? 200 : 503, {
    status: isReady ? 'ready' : 'not_ready',
    gateway: { release: self.release, build: self.build },
    worker: { state, release, build, isolation: isolation?.layers ?? null },
    store: { state: storeCode === null ? 'ok' : 'failed', code: storeCode },
  })
}
