/** Secrets that are told apart wherever they turn up, and servers that demand them and say them again. */
import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { type ScriptedTool, text } from '../upstreams/scripted-upstream.ts'

export interface Sentinels {
  readonly bearer: string
  /** Value of the header `X-Api-Key`. */
  readonly header: string
  /** User and password of Basic authentication. */
  readonly login: string
  /** First part of the path. */
  readonly path: string
  /** Value of `key` in the query. */
  readonly query: string
}

export type Kind = keyof Sentinels

/** With characters that other spellings write in other ways. */
export function createSentinels(): Sentinels {
  const random = () => randomBytes(16).toString('hex')
  return {
    bearer: `Bt+${random()}/x==`,
    header: `Hv/${random()}"+`,
    login: `user:Pw+${random()}/`,
    path: `Pa${random()}`,
    query: `Qu+${random()}/=`,
  }
}

export const pathOf = ({ path, query }: Sentinels): string =>
  `/${path}/mcp?key=${encodeURIComponent(query)}`

export const basicOf = ({ login }: Sentinels): string =>
  `Basic ${Buffer.from(login).toString('base64')}`

/** A secret as the server got it. */
function received(kind: Kind, headers: IncomingHttpHeaders, url: string): string {
  const { authorization = '' } = headers
  const [, first = ''] = url.split('/')
  switch (kind) {
    case 'bearer':
      return authorization.replace(/^Bearer /, '')
    case 'login':
      return Buffer.from(authorization.replace(/^Basic /, ''), 'base64').toString()
    case 'header':
      return String(headers['x-api-key'])
    case 'path':
      return first
    case 'query':
      return new URL(url, 'http://server').searchParams.get('key') ?? ''
  }
}

const spellings = ['raw', 'percent', 'base64', 'amid base64'] as const

function spell(value: string, spelling: (typeof spellings)[number]): string {
  switch (spelling) {
    case 'raw':
      return value
    case 'percent':
      return encodeURIComponent(value)
    case 'base64':
      return Buffer.from(value).toString('base64')
    case 'amid base64':
      return Buffer.from(`got ${value}!`).toString('base64url')
  }
}

const ways = ['text', 'structure', 'tool error', 'protocol error', 'progress'] as const

interface Leak {
  readonly kind: Kind
  readonly spelling: (typeof spellings)[number]
  readonly way: (typeof ways)[number]
}

export const leaksOf = (kinds: readonly Kind[]): Leak[] =>
  kinds.flatMap((kind) =>
    spellings.flatMap((spelling) => ways.map((way) => ({ kind, spelling, way }))),
  )

/** Says a secret that the call came with. */
export const tell: ScriptedTool = {
  name: 'tell',
  inputSchema: { type: 'object' },
  run: ({ headers, url, arguments: given, progress }) => {
    const { kind, spelling, way } = given as unknown as Leak
    const said = spell(received(kind, headers, url), spelling)
    switch (way) {
      case 'text':
        return text(said)
      case 'structure':
        return text('see the structure', { structuredContent: { deep: [{ said }] } })
      case 'tool error':
        return text(said, { isError: true })
      case 'protocol error':
        return { error: { code: -32042, message: said, data: said } }
      case 'progress':
        progress(1, 2, said)
        return text('done')
    }
  },
}
