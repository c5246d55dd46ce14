/**
 * A read that a server refused because its token was over before its time: the token is renewed and the read is sent once
 * more, as an execution of its own with a new intent. A write is never sent again; the next one has the new token.
 */
import type { CredentialId, ExecutionId } from '@sallyport/protocol'
import type { Refreshed } from '../oauth/publish-refresh.ts'
import type { CallOutcome, CallRequest, Calls, CollectRequest } from './ports.ts'

export interface AskAgainDeps {
  readonly calls: Calls
  /** As `Refresher.rejected`. */
  readonly rejected: (id: CredentialId, since: number) => Promise<Refreshed>
  readonly now: () => number
  readonly report: (error: unknown, where: string) => void
}

export class AskAgain implements Calls {
  readonly #deps: AskAgainDeps

  constructor(deps: AskAgainDeps) {
    this.#deps = deps
  }

  async call(request: CallRequest): Promise<CallOutcome> {
    const { calls, now } = this.#deps
    const since = now()
    const first = await calls.call(request)
    const { credentialId, access } = request.tool.binding
    if (!isUnauthorized(first) || credentialId === null) return first
    const renewed = this.#renew(credentialId, since)
    if (access !== 'read' || !(await renewed) || hasGone(request)) return first
    // Whoever asks for the same call meanwhile joins the second one as well: its id is made of the first.
    const again = await calls.call({ ...request, callId: first.executionId })
    return again.kind === 'failure' && again.executionId === null ? first : again
  }

  collect(request: CollectRequest): Promise<CallOutcome> {
    return this.#deps.calls.collect(request)
  }

  async #renew(id: CredentialId, since: number): Promise<boolean> {
    const { rejected, report } = this.#deps
    try {
      return (await rejected(id, since)) === 'renewed'
    } catch (thrown) {
      report(thrown, 'refresh')
      return false
    }
  }
}

/** Of the call itself, or of what had to be asked before it; then nothing of it was sent. */
type Unauthorized = CallOutcome & { readonly executionId: ExecutionId }

function isUnauthorized(outcome: CallOutcome): outcome is Unauthorized {
  return (
    outcome.kind === 'failure' &&
    (outcome.code === 'upstream_unauthorized' || outcome.code === 'upstream_http_401') &&
    outcome.executionId !== null
  )
}

function hasGone({ cancelled, left }: CallRequest): boolean {
  return cancelled?.aborted === true || left?.aborted === true
}
