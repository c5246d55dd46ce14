/** Query and body of a request, judged by the route's schemas. The first thing wrong is named by its place. */
import type { IncomingMessage } from 'node:http'
import { parseExact, type Route, SallyportError } from '@sallyport/protocol'

const bodyLimit = 1024 * 1024

/** Throws `bad_request`. Unknown and repeated names are refused. */
export function readQuery(route: Route, search: URLSearchParams): unknown {
  const names = [...search.keys()]
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new SallyportError('bad_request', { field: twice })
  if (!route.query) {
    if (names[0] !== undefined) throw new SallyportError('bad_request', { field: names[0] })
    return undefined
  }
  return checked(route.query.strict().safeParse(Object.fromEntries(search)))
}

/** Reads the whole body, counting. Throws `too_large`, `bad_request`. */
export async function readBody(route: Route, request: IncomingMessage): Promise<unknown> {
  const text = await readText(request)
  if (!route.body) {
    if (text !== '') throw new SallyportError('bad_request', { field: '' })
    return undefined
  }
  return checked(route.body.safeParse(text === '' ? undefined : parse(text)))
}

function parse(text: string): unknown {
  const parsed = parseExact(text)
  if (!parsed.ok) throw new SallyportError('bad_request', { field: parsed.path.slice(1) })
  return parsed.value
}

async function readText(request: IncomingMessage): Promise<string> {
  if (Number(request.headers['content-length'] ?? 0) > bodyLimit)
    throw new SallyportError('too_large')
  const chunks: Buffer[] = []
  let size = 0
  // The socket must outlive a body that is refused half way: its answer is still to be written.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > bodyLimit) throw new SallyportError('too_large')
    chunks.push(chunk)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch (cause) {
    throw new SallyportError('bad_request', { field: '', cause })
  }
}

interface Issue {
  readonly path: readonly PropertyKey[]
  /** Of an object that must not have them. */
  readonly keys?: readonly string[]
}

function checked(
  parsed:
    | { readonly success: true; readonly data: unknown }
    | { readonly success: false; readonly error: { readonly issues: readonly Issue[] } },
): unknown {
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const place = [...(issue?.path ?? []), ...(issue?.keys ?? []).slice(0, 1)]
  throw new SallyportError('bad_request', { field: place.map(String).join('/') })
}
