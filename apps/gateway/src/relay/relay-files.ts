/**
 * The files of one relay folder, wherever they are: a folder of this machine, or a sandbox that is reached by a provider's
 * file API. Whatever is in it was written by the guest.
 */
export interface RelayFiles {
  /**
   * Names in the folder, in any order, at most `limit` of them. Rejects with `RelayGone` when the folder is not there any
   * more or is another one.
   */
  list(limit: number): Promise<readonly string[]>
  /** The bytes of a regular file that has one name and at most `limit` bytes; else what it is instead. Follows no link. */
  read(name: string, limit: number): Promise<Buffer | 'gone' | 'not_a_file' | 'too_large'>
  /** Writes it beside, then gives it its name. Nobody ever sees half of it. */
  publish(name: string, bytes: Buffer): Promise<void>
  /** True when it is not there afterwards, whatever it was; a folder stays. */
  remove(name: string): Promise<boolean>
  /** Calls `onChange` whenever something may have changed, until the function that comes back is called. */
  readonly watch?: ((onChange: () => void, onFailure: () => void) => () => void) | undefined
  /** A provider may count requests: what is left between two looks at least. */
  readonly pauseMs?: number
  /** `end`: also removes what is of the relay, and the folder when it is empty then. */
  close(how?: 'end'): Promise<void>
}

export class RelayGone extends Error {}
