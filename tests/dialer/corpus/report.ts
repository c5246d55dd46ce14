/** What came of one group of the corpus. */
export interface CorpusReport {
  readonly what: string
  /** One for each destination that must not be reached. */
  readonly codes: readonly string[]
  /** Where somebody arrived all the same. */
  readonly hits: readonly { readonly address: string; readonly port: number }[]
  /** One for each that must: the address where it arrived, or why not. */
  readonly arrived: readonly string[]
  /** How many of those that must not be reached are, by a client that does not judge. */
  readonly naive: number
}
