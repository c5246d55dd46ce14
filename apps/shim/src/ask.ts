/**
 * One request of the harness, from its line to its answer; or a stream on which the gateway tells of changes. A connection
 * that is cut may be asked again: with the same call id it is the same call, so nothing is carried out twice.
 */
import type { FewHeaders } from '@sallyport/protocol/shim'
import type { Conversation } from './conversation.ts'
import { type Incoming, parsed } from './incoming.ts'
import { type Failure, type Link, nothing, now } from './link.ts'
import type { Lists } from './lists.ts'
import type { Out } from './out.ts'
import { errorAnswer, responseHead, unreachableAnswer, withId } from './own-answers.ts'

export interface AskDeps {
  readonly link: Link
  readonly out: Out
  readonly conversation: Conversation
  readonly lists: Lists
  /** A message was passed on that answers one of the harness, or tells of its progress. */
  readonly passed: (message: Incoming, text: string, mcpSession: string | undefined) => void
}

export interface Asked {
  /** The harness cancelled it: whatever still comes was not delivered. */
  readonly silence: () => void
  readonly close: () => void
}

/** Of a stream that is opened again whenever it ends: the news that something may have changed meanwhile. */
export interface Standing {
  readonly changed: string | undefined
}

/** `over` is called once, when nothing more comes of it, and not before this returned. A null message is a GET. */
export function ask(
  message: Incoming | null,
  deps: AskDeps,
  over: () => void,
  standing?: Standing,
): Asked {
  const { link, out, conversation, lists, passed } = deps
  let request = conversation.outgoing(message)
  let stop = nothing
  let status = 0
  let mcpSession: string | undefined
  let last: string | undefined
  let isAnswered = false
  let isSilent = false
  let isAgain = false
  let wasSent = false
  const patience = patient(standing ? 15_000 : 2_000)
  const send = (): void => {
    stop = link.send(request, { head, message: hear, end, failed })
  }
  const head = (answered: number, headers: FewHeaders): void => {
    status = answered
    mcpSession = headers['mcp-session-id']
    if (status >= 400) return
    if (isAgain && standing?.changed) out.write(standing.changed)
    patience.renew()
  }
  const hear = (text: string): void => {
    const isAnswer = text.startsWith(responseHead)
    if (status >= 400 || (standing && isAnswer)) last = text
    else if (!isSilent && !(isAgain && text.includes('/acknowledged"'))) {
      isAnswered ||= isAnswer
      out.write(text)
      if (message) passed(message, text, mcpSession)
    }
  }
  const end = (): void => {
    const verdict = verdictOn(status, last, standing)
    if (verdict === 'no_session' && conversation.forgetSession()) {
      request = conversation.outgoing(message, request.call)
      send()
    } else if (verdict === 'cut' || (!verdict && !isAnswered)) failed('cut')
    else if (!verdict) settle()
    else tell(last ?? errorAnswer(undefined, -32603, `HTTP status ${status}`))
  }
  const settle = (): void => {
    const { call, isCall } = request
    if (isCall && isAnswered) out.taken(() => link.settle(call, 'delivered'))
    else if (isCall) link.settle(call, 'lost')
    over()
  }
  const tell = (text: string): void => {
    // A message that was read is answered to the id that was read; one that was not, to the one we know.
    const answer = message && status !== 400 ? withId(text, message.id) : text
    if (message && !isSilent) out.write(answer)
    over()
  }
  const failed = (failure: Failure): void => {
    wasSent ||= failure === 'cut'
    const list = message && lists.answer(message)
    const limitMs = patienceMs(request.isCall, wasSent)
    if (isAnswered || isSilent) settle()
    else if (standing || (!list && patience.lasts(limitMs))) {
      isAgain = true
      stop = patience.later(send)
    } else tell(list ?? unreachableAnswer(message as Incoming, wasSent ? 'cut' : 'unsent'))
  }
  send()
  return {
    silence: () => {
      isSilent = true
    },
    close: () => {
      isSilent = true
      stop()
      over()
    },
  }
}

/** Tries again later and later. */
function patient(longestMs: number) {
  let failingSince = 0
  let pauseMs = 100
  return {
    renew: () => {
      failingSince = 0
      pauseMs = 100
    },
    /** Since it first failed. */
    lasts: (limitMs: number): boolean => {
      failingSince ||= now()
      return now() - failingSince < limitMs
    },
    later: (work: () => void): (() => void) => {
      const timer = setTimeout(work, pauseMs)
      pauseMs = Math.min(pauseMs * 2, longestMs)
      return () => clearTimeout(timer)
    },
  }
}

/** A call that never left is not worth waiting for: the model can do something else meanwhile. */
function patienceMs(isCall: boolean, wasSent: boolean): number {
  if (!isCall) return 10_000
  return wasSent ? 5_000 : 0
}

/** A way through others says so when it does not reach the gateway; a stream waits for better times. */
function verdictOn(
  status: number,
  last: string | undefined,
  standing: unknown,
): string | undefined {
  if (status < 400) return undefined
  const isPassing = status >= 500 || status === 429
  if (isPassing && (standing || last === undefined)) return 'cut'
  return status === 404 && parsed(last)?.error?.code === -32001 ? 'no_session' : 'refused'
}
