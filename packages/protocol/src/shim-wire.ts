/**
 * What a shim and a gateway say to each other beside MCP itself: headers over HTTP; records in the files of a relay folder,
 * or as lines on a single stream of bytes. The shim is bundled from this module, so nothing heavy may be imported here.
 */
export { eventReader } from './event-reader.ts'
export { lineReader } from './line-reader.ts'
export { encodeHeaderValue, modernVersion } from './mcp.ts'
export { release } from './release.ts'

export const protocolVersionKey = 'io.modelcontextprotocol/protocolVersion'
export const subscriptionIdKey = 'io.modelcontextprotocol/subscriptionId'

export const shimHeaders = {
  /** 32 hex digits of one shim process: the scope of its harness's JSON-RPC ids. */
  shim: 'x-sallyport-shim',
  release: 'x-sallyport-release',
  /** Random id of one request of that process. Sent again with the same id it is the same call. */
  call: 'x-sallyport-call',
  /** On a POST without a body: the call whose answer the harness has. */
  delivered: 'x-sallyport-delivered',
  /** The same for an answer that nobody took. */
  lost: 'x-sallyport-lost',
} as const

/** Shims, calls and records are named by 16 random bytes. */
export const shimIdForm = /^[0-9a-f]{32}$/

export type FewHeaders = Readonly<Record<string, string>>

/** One request of a shim, whatever it travels on. */
export interface ShimRequest {
  readonly call: string
  readonly method: 'POST' | 'GET'
  /** `/mcp` or `/mcp/<connection>`. */
  readonly path: string
  readonly headers: FewHeaders
}

export const recordVersion = 1
export const recordLimit = 1_048_576

/** What a gateway says of itself before anything else, and when it is asked. */
export interface GatewayRecord {
  readonly v: number
  readonly release: string
  /** Another one than before: what an earlier gateway was asked is not answered any more. */
  readonly gateway: string
  /** Its clock as it wrote this: requests are dated by that clock. */
  readonly at: number
  /** How long a request that was read may stay without a word. */
  readonly waitMs: number
}

export interface RequestRecord extends ShimRequest {
  readonly v: number
  readonly release: string
  readonly shim: string
  readonly at: number
  /** JSON text as it came; empty for a GET. */
  readonly message: string
}

/** A part of an answer, or its last. */
export interface AnswerRecord {
  readonly v: number
  /** 0 in a part that only says that somebody is still at it. */
  readonly status: number
  readonly headers: FewHeaders
  readonly messages: readonly string[]
  /** It ended before it was whole. */
  readonly broken?: true
}

/**
 * In a folder: `sallyport.json` holds a GatewayRecord, `<id>.req.json` a RequestRecord, `<id>.<n>.part.json` from 0 up and at
 * last `<id>.res.json` an AnswerRecord. A request is taken by removing it, an answer likewise. `<id>.cancel.json`: the
 * writer has gone; after the answer, that nobody took it.
 */
export const gatewayFile = 'sallyport.json'

/**
 * On a stream each record is one line; a line that is none is skipped, so whoever begins in the middle is in step at the next
 * line end. A shim begins with an empty line and `ask`; whoever spoke on the stream before it is gone then.
 */
export type ShimLine =
  /** Asks for the gateway's record, now and as long as something is waited for. */
  | { readonly ask: string }
  | ({ readonly req: string } & RequestRecord)
  | { readonly cancel: string }
  | { readonly taken: string }

export type GatewayLine =
  /** `to`: the shim that asked. */
  | ({ readonly to: string } & GatewayRecord)
  /** The request was read. */
  | { readonly read: string }
  | ({ readonly part: string } & AnswerRecord)
  | ({ readonly res: string } & AnswerRecord)
