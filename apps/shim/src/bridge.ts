/** Takes the lines of the harness and gives it the answers. It carries; the gateway alone decides. */
import { subscriptionIdKey } from '@sallyport/protocol/shim'
import { type AskDeps, type Asked, ask, type Standing } from './ask.ts'
import { conversation as converse } from './conversation.ts'
import { type Incoming, membersOf, readIncoming } from './incoming.ts'
import { type Link, nothing } from './link.ts'
import { lastLists } from './lists.ts'
import type { Out } from './out.ts'
import { errorAnswer } from './own-answers.ts'

const listChanged = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"'

export interface Bridge {
  readonly take: (line: Buffer) => void
  /** The harness writes no more. Resolves when what is on its way is answered. */
  readonly idle: () => Promise<void>
}

export function bridge(link: Link, out: Out, path: string, random: () => string): Bridge {
  const lists = lastLists()
  const conversation = converse(path, random, lists)
  const asks = new Map<Asked, string | undefined>()
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let notifying = 0
  let stream: Asked | undefined
  let onIdle = nothing
  const settle = (): void => {
    if (asks.size + notifying === 0) onIdle()
  }
  const passed: AskDeps['passed'] = (message, text, mcpSession) => {
    lists.keep(message, text)
    if (message.method !== 'initialize') return
    conversation.begin(text, mcpSession)
    // The stream of a legacy conversation. A gateway that has none is one that tells of no changes.
    stream?.close()
    stream = ask(null, deps, nothing, { changed: `${listChanged}}` })
  }
  const deps: AskDeps = { link, out, conversation, lists, passed }
  const askFor = (message: Incoming): void => {
    const over = (): void => {
      asks.delete(one)
      settle()
    }
    const one = ask(message, deps, over, standingOf(message))
    asks.set(one, message.id)
  }
  /** Nothing is answered to it. */
  const notify = (message: Incoming): void => {
    const { method, params } = message
    const id = method === 'notifications/cancelled' && JSON.stringify(params['requestId'])
    const cancelled = [...asks].filter((entry) => entry[1] === id)
    for (const [one] of cancelled) one.silence()
    notifying++
    const after = (): void => {
      // Only now: a call whose stream closes before its cancel was heard is one whose caller has left.
      for (const [one] of cancelled) one.close()
      notifying--
      settle()
    }
    const sink = { head: nothing, message: nothing, end: after, failed: after }
    link.send(conversation.outgoing(message), sink)
  }
  const take = (line: Buffer): void => {
    let text: string
    try {
      text = decoder.decode(line)
    } catch {
      out.write(errorAnswer(undefined, -32700, 'The body is not UTF-8 text.'))
      return
    }
    const message = readIncoming(text)
    if (text.trim() !== '') (message.isNotification ? notify : askFor)(message)
  }
  const idle = (): Promise<void> =>
    new Promise((resolve) => {
      stream?.close()
      onIdle = resolve
      settle()
    })
  return { take, idle }
}

/** The harness knows one stream that does not end. */
function standingOf({ method, isModern, params, id }: Incoming): Standing | undefined {
  if (method !== 'subscriptions/listen' || !isModern) return undefined
  const isWanted = membersOf(params['notifications'])['toolsListChanged'] === true
  const named = `"params":{"_meta":{"${subscriptionIdKey}":${id}}}`
  return { changed: isWanted ? `${listChanged},${named}}` : undefined }
}
