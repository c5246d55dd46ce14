/** What the shim answers itself. The sentences are those of the table of errors. */
import type { Incoming } from './incoming.ts'
import type { Failure } from './link.ts'

const unreachable = 'gateway_unreachable: Sallyport cannot be reached from the sandbox now.'

const next: Record<Failure, string> = {
  unsent: 'Nothing was sent. Try again later, or tell the user.',
  cut: 'It may have been carried out: to collect the outcome, call again with exactly the same arguments.',
}

/** As a gateway writes responses; what it notifies of begins with its method. */
export const responseHead = '{"jsonrpc":"2.0","id":'

export function errorAnswer(id: string | undefined, code: number, message: string): string {
  return `${responseHead}${id ?? null},"error":${JSON.stringify({ code, message })}}`
}

export const tooLarge = (): string =>
  errorAnswer(undefined, -32600, 'The request is larger than the limit.')

/** A tool that could not be called is a result, which the model reads; anything else is an error. */
export function unreachableAnswer(message: Incoming, failure: Failure): string {
  const { id, method, isModern } = message
  if (method !== 'tools/call') return errorAnswer(id, -32000, unreachable)
  const content = [{ type: 'text', text: `${unreachable}\nNext: ${next[failure]}` }]
  const resultType = isModern ? 'complete' : undefined
  return `${responseHead}${id ?? null},"result":${JSON.stringify({ resultType, content, isError: true })}}`
}

/** Before it reads a message the gateway knows no id to answer to. */
export function withId(text: string, id: string | undefined): string {
  const nameless = `${responseHead}null,`
  return id && text.startsWith(nameless)
    ? `${responseHead}${id},${text.slice(nameless.length)}`
    : text
}
