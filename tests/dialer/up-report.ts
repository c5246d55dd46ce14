/** What came of a Sallyport under each set of flags: by connection, `found` or a code. */
export interface UpReport {
  readonly bare: Readonly<Record<string, string>>
  readonly allowed: Readonly<Record<string, string>>
  readonly denied: Readonly<Record<string, string>>
  readonly listed: Readonly<Record<string, string>>
  readonly proxied: Readonly<Record<string, string>>
  /** Of the proxy. */
  readonly asked: readonly string[]
  /** Of the worker. */
  readonly environment: string
  readonly command: readonly string[]
  /** By a flag that the worker alone understands. */
  readonly misunderstood: string
}
