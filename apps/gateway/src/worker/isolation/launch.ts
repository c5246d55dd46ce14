/** How a worker is started. */
export interface Launch {
  /** Undefined: the worker's Node is started by itself. */
  readonly around: Around | undefined
  readonly nodeFlags: readonly string[]
  /** Behind the worker's own flags. */
  readonly moreFlags: readonly string[]
}

/** bubblewrap and its arguments, but for the numbers of descriptors. */
export interface Around {
  readonly program: string
  readonly words: readonly string[]
  /** Of system calls, as bubblewrap reads it; undefined: none is written for this machine. */
  readonly filter: Uint8Array | undefined
}
