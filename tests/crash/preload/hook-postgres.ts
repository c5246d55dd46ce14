/** The statements and commits of Postgres clients: before they are written, after they were answered. */
import { createRequire } from 'node:module'
import type { Client } from 'pg'
import type { StepBook } from './step-book.ts'
import { TransactionSteps } from './transaction-steps.ts'

type Query = string | { readonly text: string; readonly values?: readonly unknown[] }
type Asked = (this: Client, query: Query, ...rest: unknown[]) => unknown

export function hookPostgres(book: StepBook): void {
  // The store's own copy: this folder may have another.
  const require = createRequire(new URL('../../../packages/store/package.json', import.meta.url))
  const { Client: Class } = require('pg') as { Client: { prototype: { query: unknown } } }
  const original = Class.prototype.query as Asked
  const ofClient = new WeakMap<Client, ClientSteps>()
  const query: Asked = function (query, ...rest) {
    const own = ofClient.get(this) ?? new ClientSteps(book)
    ofClient.set(this, own)
    return own.query(query, rest, () => original.call(this, query, ...rest))
  }
  Class.prototype.query = query
}

class ClientSteps {
  readonly #steps: TransactionSteps
  /** Statements keep their order, also when one of them is held. */
  #gate: Promise<void> | undefined

  constructor(book: StepBook) {
    this.#steps = new TransactionSteps(book)
  }

  query(query: Query, rest: readonly unknown[], send: () => unknown): unknown {
    const text = typeof query === 'string' ? query : query.text
    const values = typeof query === 'string' ? [] : (query.values ?? [])
    const names = rest.length === 0 ? this.#steps.names(text, values) : undefined
    if (!names) return this.#afterGate(send)
    const held = this.#steps.before(names)
    if (held !== undefined) this.#close(held)
    return this.#answered(names, text, this.#afterGate(send))
  }

  #afterGate(send: () => unknown): unknown {
    return this.#gate === undefined ? send() : this.#gate.then(send)
  }

  #close(held: Promise<void>): void {
    const gate = (this.#gate ?? Promise.resolve()).then(() => held)
    this.#gate = gate
    void gate.then(() => {
      if (this.#gate === gate) this.#gate = undefined
    })
  }

  async #answered(names: readonly string[], text: string, sent: unknown): Promise<unknown> {
    const answer = await sent
    this.#steps.after(names)
    if (/^\s*COMMIT/.test(text)) this.#steps.end()
    return answer
  }
}
