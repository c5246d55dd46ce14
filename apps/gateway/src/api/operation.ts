import { type Pause, pauseSetting } from '@sallyport/core'
import type { Answer, UserId } from '@sallyport/protocol'
import type { ApiDeps } from './api-deps.ts'
import type { HandlersOf } from './handlers.ts'
import { viewTime } from './view-time.ts'

export function operationHandlers(deps: ApiDeps): HandlersOf<'status'> {
  return { 'status.show': () => showStatus(deps) }
}

export async function showStatus({ store, worker, self }: ApiDeps): Promise<Answer<'status.show'>> {
  const { state, instance, release, pid } = worker.info()
  return {
    release: self.release,
    build: self.build,
    instance: self.instance,
    startedAt: viewTime(self.startedAt),
    database: store.engine,
    worker: { state, instance, release, pid },
    paused: await viewPause(store),
    connections: (await store.connections.list()).length,
    sessions: await store.sessions.count('open'),
    dispatching: await store.executions.count('dispatching'),
    pendingApprovals: await store.approvals.count('pending'),
    unknown: await store.executions.count('unknown'),
  }
}

async function viewPause(store: ApiDeps['store']): Promise<Answer<'status.show'>['paused']> {
  const pause = await store.settings.get(pauseSetting)
  if (!pause) return null
  const { writesOnly, note } = pause.value as Pause
  const by = await store.users.get(pause.by as UserId)
  return { writesOnly, note, by: by?.name ?? pause.by, at: viewTime(pause.at) }
}
