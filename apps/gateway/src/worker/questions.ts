/** What was asked by `recover` on one connection and is not answered yet. */
import type { Recovered } from '@sallyport/core'
import { SallyportError } from '@sallyport/protocol'
import type { Clock } from './clock.ts'

const answerWithinMs = 10_000

interface Question {
  readonly missing: Set<string>
  readonly answers: Recovered[]
  readonly resolve: (answers: Recovered[]) => void
  readonly fail: (cause: Error) => void
}

export class Questions {
  readonly #clock: Clock
  readonly #open = new Set<Question>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Resolves with one answer an intent. Rejects with `worker_down` when they do not come. */
  ask(intents: readonly { readonly id: string }[]): Promise<Recovered[]> {
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.after(answerWithinMs, () => question.fail(new Error('no answer')))
      const close = () => {
        cancel()
        this.#open.delete(question)
      }
      const question: Question = {
        missing: new Set(intents.map(({ id }) => id)),
        answers: [],
        resolve: (answers) => {
          close()
          resolve(answers)
        },
        fail: (cause) => {
          close()
          reject(new SallyportError('worker_down', { cause }))
        },
      }
      this.#open.add(question)
    })
  }

  /** The worker answers in order, so an answer belongs to the oldest question that misses it. */
  onAnswer(answer: Recovered): void {
    for (const question of this.#open) {
      if (!question.missing.delete(answer.head.intent)) continue
      question.answers.push(answer)
      if (question.missing.size === 0) question.resolve(question.answers)
      return
    }
  }

  onClosed(): void {
    for (const { fail } of this.#open) fail(new Error('the connection ended'))
  }
}
