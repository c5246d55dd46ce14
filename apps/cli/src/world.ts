/** What a command touches of the machine; tests hand in their own. */
import type { Readable } from 'node:stream'

export interface Output {
  write(text: string): unknown
  /** Whoever has written much waits for `drain` when it is so. */
  readonly writableNeedDrain?: boolean
  once?(event: 'drain' | 'close', listener: () => void): unknown
  readonly isTTY?: boolean
  readonly columns?: number
}

export interface Environment {
  readonly SALLYPORT_URL?: string | undefined
  readonly SALLYPORT_TOKEN?: string | undefined
  readonly SALLYPORT_TOKEN_FILE?: string | undefined
  readonly SALLYPORT_DATA?: string | undefined
  readonly XDG_DATA_HOME?: string | undefined
  readonly HOME?: string | undefined
  readonly NO_COLOR?: string | undefined
}

export interface World {
  readonly env: Environment
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Output
  readonly stderr: Output
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly random: (size: number) => Uint8Array
}
