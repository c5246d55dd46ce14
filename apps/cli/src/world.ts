/** What a command touches of the machine; tests hand in their own. */
import type { Readable } from 'node:stream'

export interface Output {
  write(text: string): unknown
  /** Whoever has written much waits for `drain` when it is so. */
  readonly writableNeedDrain?: boolean
  on?(event: 'drain' | 'close', listener: () => void): unknown
  off?(event: 'drain' | 'close', listener: () => void): unknown
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

/** What the system tells this process. `exit` comes whichever way it ends, except by force. */
export type SignalName =
  | 'SIGINT'
  | 'SIGTERM'
  | 'SIGHUP'
  | 'SIGTSTP'
  | 'SIGCONT'
  | 'SIGWINCH'
  | 'exit'

export interface Signals {
  on(name: SignalName, listener: () => void): unknown
  off(name: SignalName, listener: () => void): unknown
  /** Does to this process what the signal does when nobody listens; SIGTSTP to its whole group, as a terminal would. */
  raise(name: SignalName): void
}

export interface Environment {
  readonly SALLYPORT_URL?: string | undefined
  readonly SALLYPORT_TOKEN?: string | undefined
  readonly SALLYPORT_TOKEN_FILE?: string | undefined
  readonly SALLYPORT_DATA?: string | undefined
  readonly XDG_DATA_HOME?: string | undefined
  readonly HOME?: string | undefined
  readonly NO_COLOR?: string | undefined
  readonly TERM?: string | undefined
}

export interface World {
  readonly env: Environment
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(on: boolean): unknown }
  readonly stdout: Output
  readonly stderr: Output
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly random: (size: number) => Uint8Array
  readonly signals: Signals
  /** Milliseconds; also over when `until` aborts. Never throws. */
  readonly delay: (ms: number, until: AbortSignal) => Promise<void>
}
