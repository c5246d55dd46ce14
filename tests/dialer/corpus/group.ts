/** Destinations of one kind, as data: what must not be reached, and beside it what looks alike and must. */
export interface Group {
  readonly what: string
  readonly code: 'upstream_blocked_address' | 'bad_url'
  readonly refused: readonly string[]
  /** Nobody could reach them, whoever asks. */
  readonly isNowhere?: true
  /** URL, and the address the connection must arrive at. */
  readonly passes: readonly (readonly [url: string, address: string])[]
}
