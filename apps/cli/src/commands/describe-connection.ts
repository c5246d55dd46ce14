import type { Answer } from '@sallyport/protocol'
import type { Style } from '../print/style.ts'
import { facts } from '../print/table.ts'

export function describeConnection(style: Style, one: Answer<'connection.show'>): string {
  return facts(style, [
    ['name', one.name],
    ['id', one.id],
    ['state', one.state],
    ['scope', one.scope],
    ['transport', one.transport],
    ['endpoint', one.endpoint],
    ['auth', one.auth],
    ['headers', one.headerNames.join(', ') || undefined],
    [
      'credential',
      one.credential ? `${one.credential.state}, version ${one.credential.version}` : 'none',
    ],
    ['account', one.credential?.oauth?.account ?? undefined],
    ['issuer', one.credential?.oauth?.issuerHost],
    ['revision', one.revision],
    ['required', one.required ? 'yes' : 'no'],
    ['call limit', `${one.limits.callMs} ms, ${one.limits.resultBytes} bytes`],
    ['catalog', one.published ? `revision ${one.published.number}` : 'not published'],
    ['health', one.health.code ?? one.health.state],
    ['changed', one.updatedAt],
  ])
}
