import { readScope } from './scope.ts'

/** What a server says in `WWW-Authenticate` about the token it wants. */
export interface Challenge {
  readonly resourceMetadata?: string
  readonly scope?: string
  readonly error?: string
}

/** A scheme, or a parameter with its value (RFC 9110 11.2): what begins a challenge has no `=` behind it. */
const piece =
  /[\s,]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?/y

/** Of the first `Bearer` challenge in the header, which may hold several of any scheme; empty when there is none. */
export function readChallenge(header: string | undefined): Challenge {
  const parameters = new Map<string, string>()
  let scheme = ''
  let bearers = 0
  for (const [name, value] of piecesOf(header ?? '')) {
    if (value === undefined) {
      scheme = name.toLowerCase()
      if (scheme === 'bearer') bearers++
    } else if (scheme === 'bearer' && bearers === 1 && !parameters.has(name.toLowerCase()))
      parameters.set(name.toLowerCase(), value)
  }
  const [resourceMetadata, error] = [parameters.get('resource_metadata'), parameters.get('error')]
  const scope = readScope(parameters.get('scope'))
  return {
    ...(resourceMetadata ? { resourceMetadata } : {}),
    ...(scope ? { scope } : {}),
    ...(error ? { error } : {}),
  }
}

function* piecesOf(header: string): Generator<readonly [name: string, value: string | undefined]> {
  piece.lastIndex = 0
  while (piece.lastIndex < header.length) {
    const at = piece.lastIndex
    const match = piece.exec(header)
    if (match) {
      const [, name = '', quoted, plain] = match
      yield [name, quoted?.replace(/\\(.)/g, '$1') ?? plain]
    } else {
      // What is no parameter, like the token of another scheme: the next challenge begins behind a comma.
      const comma = header.indexOf(',', at + 1)
      if (comma < 0) return
      piece.lastIndex = comma
    }
  }
}
