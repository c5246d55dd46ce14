/** Rows by key, each frozen and exactly what the SQL engines would give back for it. */
export interface MemoryRows<Row> {
  get(key: string): Row | undefined
  /** Inserts or replaces. Throws TypeError for a row that could not be given back as it is. */
  put(row: Row): void
  drop(key: string): void
  all(): Row[]
  /** Throws TypeError for a row that cannot exist twice; the transaction can then only be rolled back. */
  collide(): never
}

export interface RowKind<Row> {
  key(row: Row): string
  /** As the row comes back from a database. */
  kept(row: Row): Row
}

export class CommittedRows<Row> {
  readonly kind: RowKind<Row>
  readonly rows = new Map<string, Row>()

  constructor(kind: RowKind<Row>) {
    this.kind = kind
  }
}

/** What one transaction sees: its own changes over the committed rows, which stay as they are until `commit`. */
export class ChangedRows<Row> implements MemoryRows<Row> {
  readonly #committed: CommittedRows<Row>
  readonly #changes = new Map<string, Row | undefined>()
  readonly #check: () => void
  readonly #fail: (error: TypeError) => void

  /** `check` throws when the rows may not be used any more. */
  constructor(
    committed: CommittedRows<Row>,
    check: () => void,
    fail: (error: TypeError) => void = () => {},
  ) {
    this.#committed = committed
    this.#check = check
    this.#fail = fail
  }

  get(key: string): Row | undefined {
    this.#check()
    return this.#changes.has(key) ? this.#changes.get(key) : this.#committed.rows.get(key)
  }

  put(row: Row): void {
    this.#check()
    const { kind } = this.#committed
    this.#changes.set(kind.key(row), Object.freeze(kind.kept(row)))
  }

  drop(key: string): void {
    this.#check()
    this.#changes.set(key, undefined)
  }

  all(): Row[] {
    this.#check()
    const rows = new Map<string, Row | undefined>([...this.#committed.rows, ...this.#changes])
    return [...rows.values()].filter((row) => row !== undefined)
  }

  collide(): never {
    const error = new TypeError('a row with this key exists')
    this.#fail(error)
    throw error
  }

  commit(): void {
    const { rows } = this.#committed
    for (const [key, row] of this.#changes) {
      if (row === undefined) rows.delete(key)
      else rows.set(key, row)
    }
  }
}

/** Ids are made by us and never twice. */
export function putNew<Row>(rows: MemoryRows<Row>, key: string, row: Row): void {
  if (rows.get(key) !== undefined) rows.collide()
  rows.put(row)
}
