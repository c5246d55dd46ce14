import { SallyportError } from '@sallyport/protocol'
import type { Clock } from '../clock.ts'

/** Every address of a name. May take longer than `ms`, and may never answer: it is not waited for. */
export type Resolve = (host: string, ms: number) => Promise<readonly string[]>

/** Questions for addresses, each asked once at a time, however many connections need the answer. */
export class Questions {
  readonly #resolve: Resolve
  readonly #clock: Pick<Clock, 'after'>
  /** By name, while they are on their way. */
  readonly #open = new Map<string, Promise<readonly string[]>>()

  constructor(resolve: Resolve, clock: Pick<Clock, 'after'>) {
    this.#resolve = resolve
    this.#clock = clock
  }

  /** Rejects with `upstream_dns` when there is no address, or none in time. */
  ask(host: string, ms: number): Promise<readonly string[]> {
    // RFC 6761: whatever a server says.
    if (host === 'localhost' || host.endsWith('.localhost'))
      return Promise.resolve(['127.0.0.1', '::1'])
    let question = this.#open.get(host)
    if (!question) {
      question = this.#answer(host, ms).finally(() => this.#open.delete(host))
      this.#open.set(host, question)
    }
    return question
  }

  #answer(host: string, ms: number): Promise<readonly string[]> {
    return new Promise((settle, reject) => {
      const fail = (cause: unknown) => reject(new SallyportError('upstream_dns', { cause }))
      const cancel = this.#clock.after(ms, () => fail(new Error('no answer in time')))
      this.#resolve(host, ms)
        .then((found) => (found.length > 0 ? settle(found) : fail(new Error('no address'))), fail)
        .finally(cancel)
    })
  }
}
