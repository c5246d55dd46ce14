import { type ErrorCode, SallyportError } from '@sallyport/protocol'
import { AnswerReader } from '../http/answer-reader.ts'
import type { Message } from '../http/message-reader.ts'
import { type Channel, exchange } from './channel.ts'
import type { Contact } from './contact.ts'
import { composeRequest, nextId } from './requests.ts'
import { refusalOf } from './status-code.ts'

export interface Question {
  readonly method: string
  readonly params: object
  readonly keptBytes: number
  readonly totalMs: number
}

/**
 * The answer of an upstream to one request of ours that changes nothing. Rejects with an `upstream_*` code;
 * `upstream_session_lost` when a legacy server no longer knows the session.
 */
export async function ask(
  channel: Channel,
  contact: Contact,
  question: Question,
): Promise<Message> {
  const id = nextId()
  let answer: Message | undefined
  let refusal: ErrorCode | undefined
  const reader = new AnswerReader({
    id,
    keptBytes: question.keptBytes,
    answered: (message) => {
      answer = message
    },
  })
  const sent = exchange(
    channel,
    composeRequest(channel.target(), contact, { ...question, id }),
    {
      head: (status, headers) => {
        refusal =
          contact.sessionId !== undefined && status === 404
            ? 'upstream_session_lost'
            : refusalOf(status)
        if (!refusal) reader.head(headers)
      },
      data: (chunk) => {
        if (refusal) throw new SallyportError(refusal)
        reader.data(chunk)
      },
    },
    question.totalMs,
  )
  await sent.ended
  if (refusal) throw new SallyportError(refusal)
  reader.finish()
  if (!answer) throw new SallyportError('upstream_protocol')
  return answer
}
