/** How long the endpoint waits for what. Handed in, so that a test need not wait as long as a guest. */
export interface Timing {
  /** A call that takes longer opens its event stream: clients give up on a response without headers after a minute. */
  readonly openStreamAfterMs: number
  /** Between signs of life on an open stream. */
  readonly keepAliveMs: number
  /** A guest that takes nothing of what is written to it for this long is cut off. */
  readonly stallMs: number
  /** Bytes that may wait for one guest to read before events are written to it no more. */
  readonly backlogBytes: number
  /** From the answer to a request that was not read to its end, until the connection is cut. */
  readonly lingerMs: number
  /** How long `close` waits for answers that are on their way. */
  readonly closeMs: number
}

export const defaultTiming: Timing = {
  openStreamAfterMs: 5_000,
  keepAliveMs: 15_000,
  stallMs: 60_000,
  backlogBytes: 8 * 1024 * 1024,
  lingerMs: 1_000,
  closeMs: 10_000,
}

/** Options of the node:http (or https) server in front of the endpoint: a guest cannot hold it by sending slowly. */
export const guestServerOptions = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 120_000,
  maxHeaderSize: 16 * 1024,
  noDelay: true,
} as const

/** For `server.maxConnections`: all sessions together, the unauthenticated included. */
export const guestConnectionLimit = 8_192
