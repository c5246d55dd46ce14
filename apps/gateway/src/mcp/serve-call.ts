/** One call from its place among the session's calls to its answer, whoever in the core is asked. */
import type { Caller, CallOutcome } from '@sallyport/core'
import { toSallyportError } from '@sallyport/protocol'
import { refusalOf } from './answer.ts'
import { CallReply } from './call-reply.ts'
import type { Deliveries } from './deliveries.ts'
import { markedResult } from './earlier.ts'
import { type Exchange, refuse } from './exchange.ts'
import { type Failure, failureResult } from './failure-result.ts'
import { GuestCall } from './guest-call.ts'
import { waitingResult } from './waiting-result.ts'

export interface ServeDeps {
  readonly deliveries: Deliveries
  readonly report: (error: unknown, where: string) => void
}

export interface Question {
  /** Of the tool that is called: clients hold our own answers against it too. */
  readonly outputSchema: unknown
  /** How another tool that collects the outcome is called, if one does. */
  readonly collector?: string
  ask(caller: Caller): Promise<CallOutcome>
}

const takenBack: Failure = { kind: 'failure', executionId: null, code: 'call_cancelled' }

export async function serveCall(
  exchange: Exchange,
  question: Question,
  { deliveries, report }: ServeDeps,
): Promise<void> {
  const { traffic, req, res, session } = exchange
  if (!traffic.beginCall()) return refuse(exchange, refusalOf('too_many', { 'retry-after': '1' }))
  const call = new GuestCall(exchange)
  const reply = new CallReply(exchange)
  let outcome: CallOutcome = takenBack
  try {
    if (!call.isTakenBack) outcome = await question.ask(callerOf(exchange, call, reply))
  } catch (thrown) {
    report(thrown, 'tools/call')
    outcome = { ...takenBack, code: toSallyportError(thrown).code }
  }
  call.settle()
  if (outcome.kind !== 'waiting' && outcome.delivery)
    deliveries.watch(outcome.delivery, session.id, req, res)
  tell(outcome, question, reply)
}

function callerOf(
  { session, era }: Exchange,
  { cancelled, left }: GuestCall,
  { progress, held }: CallReply,
): Caller {
  return {
    session,
    era,
    left,
    held,
    ...(cancelled && { cancelled }),
    ...(progress && { progress }),
  }
}

function tell(outcome: CallOutcome, question: Question, reply: CallReply): void {
  switch (outcome.kind) {
    case 'result':
      reply.finish(outcome.earlier ? markedResult(outcome, outcome.earlier) : outcome.result)
      break
    case 'failure':
      reply.finishOwn(failureResult(outcome, question))
      break
    case 'waiting':
      reply.finishOwn(waitingResult(outcome, question, question.collector))
  }
}
