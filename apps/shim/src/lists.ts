/** The last lists of tools, page by page: what the harness is told while the gateway is away, and the schemas of its tools. */
import type { Incoming } from './incoming.ts'
import { parsed } from './incoming.ts'
import { responseHead } from './own-answers.ts'

const pageLimit = 64

export interface Lists {
  readonly keep: (message: Incoming, answer: string) => void
  readonly answer: (message: Incoming) => string | undefined
  /** Of a tool whose schema has a word about headers. */
  readonly schema: (name: unknown) => unknown
}

export function lastLists(): Lists {
  const pages = new Map<string, string>()
  const schemas = new Map<unknown, unknown>()
  const headOf = ({ id }: Incoming): string => `${responseHead}${id},"result":`
  const keyOf = ({ isModern, params }: Incoming): string => `${isModern} ${params['cursor']}`
  return {
    keep: (message, answer) => {
      const head = headOf(message)
      if (message.method !== 'tools/list' || !answer.startsWith(head)) return
      if (pages.size >= pageLimit) pages.clear()
      pages.set(keyOf(message), answer.slice(head.length))
      if (!answer.includes('"x-mcp-header"')) return
      for (const { name, inputSchema } of parsed(answer).result.tools)
        schemas.set(name, inputSchema)
    },
    answer: (message) => {
      const page = message.method === 'tools/list' ? pages.get(keyOf(message)) : undefined
      return page && headOf(message) + page
    },
    schema: (name) => schemas.get(name),
  }
}
