import type { SessionPort } from '@sallyport/launcher'
import { type ErrorCode, errors, SallyportError } from '@sallyport/protocol'
import { ApiRefusal, apiAt, type CallApi } from '../harness/call-api.ts'

/** The control API as launchers take it: its refusals are the errors they are, and nobody there is `unreachable`. */
export function apiPort(url: () => string, token: () => string): SessionPort {
  return portOf(apiAt(url, token))
}

export function portOf(api: CallApi): SessionPort {
  return {
    create: (body) => coded(() => api('session.create', {}, body)),
    show: (id, body) => coded(() => api('session.evidence', { id }, body)),
    hear: (id, body) => coded(() => api('session.heartbeat', { id }, body)),
    denySet: (id) => coded(() => api('session.denySet', { id })),
    confirm: (id, body) => coded(() => api('session.confirmDenySet', { id }, body)),
    end: (id, body) => coded(() => api('session.end', { id }, body)),
  }
}

async function coded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (thrown) {
    if (thrown instanceof ApiRefusal && Object.hasOwn(errors, thrown.code))
      throw new SallyportError(thrown.code as ErrorCode, { field: thrown.field ?? '' })
    // `fetch` has no other way to say that nobody answers.
    if (thrown instanceof TypeError) throw new SallyportError('unreachable', { cause: thrown })
    throw thrown
  }
}
