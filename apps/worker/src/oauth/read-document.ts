/** Reads members of documents that others wrote. Nothing of them is believed to have the type it should have. */
import { isUtf8 } from 'node:buffer'
import { type Endpoint, parseEndpoint, SallyportError } from '@sallyport/protocol'

export type Document = Readonly<Record<string, unknown>>

/** Undefined when it is no JSON object. */
export function parseDocument(body: Buffer): Document | undefined {
  if (!isUtf8(body)) return undefined
  try {
    const value: unknown = JSON.parse(body.toString())
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Document) : undefined
  } catch {
    return undefined
  }
}

const longest = 2_048
const mostItems = 4_096

/** Undefined when it is not there. Throws `oauth_metadata_invalid` when it is no text, or too long. */
export function textOf(document: Document, name: string): string | undefined {
  const value = own(document, name)
  if (value === undefined) return undefined
  if (typeof value !== 'string' || value === '' || value.length > longest)
    throw new SallyportError('oauth_metadata_invalid')
  return value
}

/** As `textOf`, of a list of texts. */
export function textsOf(document: Document, name: string): readonly string[] | undefined {
  const value = own(document, name)
  if (value === undefined) return undefined
  const isList = Array.isArray(value) && value.length <= mostItems
  if (!isList || !value.every((one) => typeof one === 'string' && one.length <= longest))
    throw new SallyportError('oauth_metadata_invalid')
  return value
}

/** As `textOf`, of a URL that a request may go to: the rules are those of an endpoint. */
export function placeOf(
  document: Document,
  name: string,
  localAllowed: boolean,
): Endpoint | undefined {
  const value = textOf(document, name)
  return value === undefined ? undefined : readPlace(value, localAllowed)
}

/** Throws `oauth_metadata_invalid`. */
export function readPlace(text: string, localAllowed: boolean): Endpoint {
  try {
    return parseEndpoint(text, localAllowed)
  } catch (cause) {
    throw new SallyportError('oauth_metadata_invalid', { cause })
  }
}

function own(document: Document, name: string): unknown {
  const value = Object.hasOwn(document, name) ? document[name] : undefined
  return value === null ? undefined : value
}
