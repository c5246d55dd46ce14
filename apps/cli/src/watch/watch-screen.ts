/** Approvals as a view one can live in: puts model, view and terminal together. */
import { describeFailure, toFailure } from '../failure.ts'
import type { Run } from '../run.ts'
import type { SignalName } from '../world.ts'
import { followApprovals, type News } from './follow.ts'
import { step } from './model.ts'
import { begin, type Effect, type Event, type State } from './state.ts'
import { Terminal } from './terminal.ts'
import { draw } from './view.ts'

const tickMs = 1000
const showWithinMs = 10_000
const decideWithinMs = 30_000

/** Ends when whoever looks at it wants that. Throws `Failure` when Sallyport does not answer the first question. */
export async function watchOnScreen(run: Run, isQuiet: boolean): Promise<void> {
  await new WatchScreen(run, isQuiet).live()
}

class WatchScreen {
  readonly #run: Run
  readonly #isQuiet: boolean
  readonly #terminal: Terminal
  readonly #over = new AbortController()
  readonly #ended = Promise.withResolvers<SignalName | undefined>()
  #state: State

  constructor(run: Run, isQuiet: boolean) {
    this.#run = run
    this.#isQuiet = isQuiet
    const guarded = (work: () => void) => () => this.#guard(work)
    this.#terminal = new Terminal(run.world, {
      key: (key) => this.#tell({ kind: 'key', key }),
      resized: () => this.#tell({ kind: 'size', ...this.#terminal.size }),
      ended: (by) => this.#ended.resolve(by),
      stopped: guarded(() => this.#terminal.suspend()),
    })
    const { columns, lines } = this.#terminal.size
    this.#state = begin(run.world.now(), columns, lines)
  }

  async live(): Promise<void> {
    const { world } = this.#run
    const news = followApprovals(this.#run, this.#over.signal)
    // What is wrong from the beginning is told as by any other command.
    const first = await news.next()
    try {
      this.#terminal.open()
      if (!first.done) this.#hear(first.value)
      this.#until(this.#listen(news))
      this.#until(this.#tick())
      const signal = await this.#ended.promise
      this.#terminal.close()
      if (signal) world.signals.raise(signal)
    } finally {
      this.#over.abort()
      this.#terminal.close()
    }
  }

  async #listen(news: AsyncGenerator<News>): Promise<void> {
    for await (const one of news) this.#hear(one)
  }

  async #tick(): Promise<void> {
    const { signal } = this.#over
    while (!signal.aborted) {
      await this.#run.world.delay(tickMs, signal)
      this.#tell({ kind: 'tick' })
    }
  }

  #hear(news: News): void {
    if (news.kind === 'seen') {
      this.#tell(news)
      return
    }
    const { code, message } = news.failure
    const text = code === 'unreachable' ? undefined : `${code}: ${message}`
    this.#tell({ kind: 'unreachable', text, againInMs: news.againInMs })
  }

  /** Every event goes through here; what fails here ends the view, and is told after it. */
  #tell(event: Event): void {
    this.#guard(() => {
      if (this.#over.signal.aborted) return
      const { state, effects } = step(this.#state, event, this.#run.world.now())
      this.#state = state
      for (const effect of effects) this.#do(effect)
      this.#paint()
    })
  }

  #paint(): void {
    const { lines, scroll } = draw(this.#state, this.#run.style)
    this.#state = step(this.#state, { kind: 'drawn', scroll }, this.#state.now).state
    this.#terminal.paint(lines)
  }

  #do(effect: Effect): void {
    switch (effect.kind) {
      case 'show':
        this.#until(this.#show(effect.id))
        break
      case 'decide':
        this.#until(this.#decide(effect))
        break
      case 'bell':
        if (!this.#isQuiet) this.#run.world.stdout.write('\x07')
        break
      case 'quit':
        this.#ended.resolve(undefined)
        break
      case 'interrupt':
        this.#ended.resolve('SIGINT')
        break
      case 'suspend':
        this.#terminal.suspend()
        break
      case 'redraw':
        this.#terminal.wipe()
    }
  }

  async #show(id: string): Promise<void> {
    const limits = { within: showWithinMs, until: this.#over.signal }
    try {
      const detail = await this.#run.call('approval.show', { params: { id } }, limits)
      this.#tell({ kind: 'shown', detail })
    } catch (thrown) {
      this.#fail('show', id, thrown)
    }
  }

  async #decide({ id, decision, note }: Extract<Effect, { kind: 'decide' }>): Promise<void> {
    const limits = { within: decideWithinMs, until: this.#over.signal }
    const call = { params: { id }, body: note === '' ? {} : { note } }
    try {
      const approval = await this.#run.call(`approval.${decision}`, call, limits)
      this.#tell({ kind: 'decided', approval })
    } catch (thrown) {
      this.#fail('decide', id, thrown)
    }
  }

  #fail(of: 'show' | 'decide', id: string, thrown: unknown): void {
    const failure = toFailure(thrown)
    const isAway = failure.code === 'unreachable' || failure.code === 'starting'
    this.#tell({ kind: 'failed', of, id, text: describeFailure(failure), isAway })
  }

  #guard(work: () => void): void {
    try {
      work()
    } catch (thrown) {
      this.#ended.reject(thrown)
    }
  }

  /** Goes on beside; what it throws ends the view. */
  #until(work: Promise<void>): void {
    work.catch((thrown: unknown) => this.#ended.reject(thrown))
  }
}
