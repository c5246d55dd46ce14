/**
 * Requests and answers as records, for a sandbox that has nothing but a folder or a single stream of bytes. A request that
 * was never read and can be taken back is proved not to have been carried out.
 */
import {
  type AnswerRecord,
  type GatewayRecord,
  type RequestRecord,
  recordVersion,
  release,
} from '@sallyport/protocol/shim'
import { type Failure, type Link, now, type Outgoing, type Sink } from './link.ts'

/** What records travel on. */
export interface Carrier {
  /** Until the next look. */
  readonly pauseMs: () => number
  /** How long a request may be unread. */
  readonly readWithinMs: number
  /** What is known of the gateway now; undefined when nothing is. `aheadMs`: its clock before ours. */
  readonly gateway: () => (GatewayRecord & { readonly aheadMs: number }) | undefined
  /** False when nothing was written. */
  readonly put: (id: string, record: RequestRecord) => boolean
  /** `unread`: it had not been read, and will not be. */
  readonly takeBack: (id: string) => 'unread' | 'read' | 'unknown'
  /** Nobody waits for the answer, or nobody took it. */
  readonly lost: (id: string) => void
  /** The answer was taken. */
  readonly delivered: (id: string) => void
  /** Calls back when nothing waits to be written. */
  readonly flush: (then: () => void) => void
  /** Looks for answers to these. */
  readonly look: (ids: readonly string[]) => void
}

export interface CarrierEvents {
  readonly changed: () => void
  readonly read: (id: string) => void
  readonly answer: (id: string, answer: AnswerRecord, isLast: boolean) => void
}

interface Waiting {
  readonly request: Outgoing
  readonly sink: Sink
  gateway: string | undefined
  since: number
  isRead: boolean
  hasHead: boolean
}

const marginMs = 10_000

export function recordLink(
  open: (on: CarrierEvents) => Carrier,
  shim: string,
  random: () => string,
): Link {
  const waiting = new Map<string, Waiting>()
  let timer: NodeJS.Timeout | undefined
  const fail = (id: string, failure: Failure): void => {
    const one = waiting.get(id)
    if (waiting.delete(id)) one?.sink.failed(failure)
  }
  const read = (id: string): void => {
    const one = waiting.get(id)
    if (one) Object.assign(one, { isRead: true, since: now() })
  }
  const answer: CarrierEvents['answer'] = (id, { status, headers, messages, broken }, isLast) => {
    const one = waiting.get(id)
    if (!one) return
    const { sink, request } = one
    read(id)
    if (status === 0) return
    if (!one.hasHead) sink.head(status, headers)
    one.hasHead = true
    for (const message of messages) sink.message(message)
    if (!isLast || !waiting.delete(id)) return
    if (request.isCall) book.add(request.call, id)
    else carrier.delivered(id)
    if (broken) sink.failed('cut')
    else sink.end()
  }
  const judge = (
    id: string,
    one: Waiting,
    { gateway, waitMs = 0 }: Partial<GatewayRecord>,
  ): void => {
    const waitedMs = now() - one.since
    one.gateway ??= gateway
    if (!one.isRead && waitedMs > carrier.readWithinMs) {
      const found = carrier.takeBack(id)
      if (found === 'read') read(id)
      else fail(id, found === 'unread' ? 'unsent' : 'cut')
    } else if (one.isRead && (gateway !== one.gateway || waitedMs > waitMs + marginMs))
      fail(id, 'cut')
  }
  const look = (): void => {
    carrier.look([...waiting.keys()])
    const self = carrier.gateway() ?? {}
    for (const [id, one] of [...waiting]) judge(id, one, self)
    plan()
  }
  const plan = (): void => {
    clearTimeout(timer)
    if (waiting.size > 0) timer = setTimeout(look, carrier.pauseMs())
  }
  const carrier = open({ changed: () => waiting.size > 0 && look(), read, answer })
  const book = answerBook(carrier)
  const send: Link['send'] = (request, sink) => {
    const id = random()
    const { call, method, path, headers, body: message } = request
    const since = now()
    const { gateway, aheadMs = 0 } = carrier.gateway() ?? {}
    waiting.set(id, { request, sink, gateway, since, isRead: false, hasHead: false })
    const own = { v: recordVersion, release, shim, at: Math.round(since + aheadMs) }
    const isPut = carrier.put(id, { ...own, call, method, path, headers, message })
    if (!isPut) setImmediate(() => fail(id, 'unsent'))
    plan()
    return () => {
      if (waiting.delete(id) && carrier.takeBack(id) !== 'unread') carrier.lost(id)
    }
  }
  return { send, ...book }
}

/** Answers that lie there until it is told what became of them. */
function answerBook(carrier: Carrier) {
  const ids = new Map<string, string>()
  const settle: Link['settle'] = (call, fate) => {
    const id = ids.get(call)
    ids.delete(call)
    if (id) carrier[fate](id)
  }
  const close = (): Promise<void> => {
    for (const call of ids.keys()) settle(call, 'lost')
    return new Promise(carrier.flush)
  }
  return { add: (call: string, id: string) => ids.set(call, id), settle, close }
}
