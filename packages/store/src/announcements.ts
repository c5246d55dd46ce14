/** Who wants to know what was announced in this process. */
import type { Store } from '@sallyport/core'

export type Heard = Parameters<Parameters<Store['listen']>[0]>[0]

export class Announcements {
  readonly #listeners = new Set<{ readonly hear: (heard: Heard) => void }>()

  listen(hear: (heard: Heard) => void): () => void {
    const listener = { hear }
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** Soon: never inside of whatever the caller is doing. */
  tell(heard: Heard): void {
    if (heard.length === 0) return
    for (const listener of this.#listeners)
      queueMicrotask(() => {
        if (!this.#listeners.has(listener)) return
        try {
          listener.hear(heard)
        } catch {
          // An announcement is a hint: who cannot take it loses time, and must not take the process down.
        }
      })
  }

  end(): void {
    this.#listeners.clear()
  }
}
