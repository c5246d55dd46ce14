/** The person, or the absence of one, that an agent speaks to by ACP: what it tells is printed, what it asks is answered. */
import {
  type AcpEvent,
  type AcpPermissions,
  type AskedForm,
  type AskedPermission,
  type FormAnswer,
  judgePermission,
} from '@sallyport/launcher'
import { readLine } from '../line.ts'
import { shownText } from '../print/shown-text.ts'
import { cellText } from '../print/table.ts'
import { writeOut } from '../print/write-out.ts'
import type { Run } from '../run.ts'
import { type Asker, fillIn } from './fill-in.ts'

export interface OwnerOf {
  readonly run: Run
  readonly session: string
  readonly policy: AcpPermissions
  /** Aborted when the agent is gone. */
  readonly over: AbortSignal
  /** The interrupt key at one of our questions. */
  readonly interrupted: () => void
}

/** What is held back while a question stands, before the agent is heard no more: in events, and in letters of JSON. */
export const heldAtMost = { events: 1_000, letters: 1_048_576 }

export class AcpOwner {
  readonly takesForms: boolean
  readonly #run: Run
  readonly #of: OwnerOf
  /** Questions and what is told come one after another. */
  #before: Promise<unknown> = Promise.resolve()
  /** Asked, or to be asked. */
  #questions = 0
  readonly #held = { events: 0, letters: 0 }
  #isInLine = false
  #saidNoise = false

  constructor(of: OwnerOf) {
    this.#of = of
    this.#run = of.run
    this.takesForms = this.#isThere() && of.policy !== 'deny'
  }

  /** Resolves when more may come: at once while a question stands, so that the agent can take it back, as far as it can be held. */
  async told(event: AcpEvent): Promise<void> {
    if (event.kind === 'noise' && this.#saidNoise) return
    if (event.kind === 'noise') this.#saidNoise = true
    const letters = JSON.stringify(event).length
    this.#hold(1, letters)
    // What an agent says while a question stands could be taken for a part of it.
    const shown = this.#inOrder(() => this.#show(event)).finally(() => this.#hold(-1, -letters))
    const isFull = this.#held.events > heldAtMost.events || this.#held.letters > heldAtMost.letters
    if (this.#questions === 0 || isFull) await shown
  }

  #hold(events: number, letters: number): void {
    this.#held.events += events
    this.#held.letters += letters
  }

  async #show(event: AcpEvent): Promise<void> {
    switch (event.kind) {
      case 'text':
        return this.#print(event.text)
      case 'tool':
        if (event.status === 'completed') return
        return this.#note(event.status === 'failed' ? 'failed' : 'tool', event.title)
      case 'plan':
        for (const entry of event.entries) this.#note('plan', entry)
        return
      case 'refusal':
        return this.#note('the agent says', event.text)
      case 'restarted':
        return this.#note('agent', 'was killed, and has been started again')
      case 'noise':
        return this.#note('agent', 'says what is not ACP')
      default:
        return event satisfies never
    }
  }

  async permits(asked: AskedPermission, over: AbortSignal): Promise<boolean> {
    const judged = judgePermission(asked, this.#of.policy, await this.#sessionTools(asked))
    if (judged === 'allow') return true
    if (judged === 'ask' && this.#isThere()) return this.#allows(asked, over)
    this.#note('refused', asked.title)
    return false
  }

  async answers(form: AskedForm, over: AbortSignal): Promise<FormAnswer> {
    if (this.takesForms) {
      const show = (line: string): unknown => this.#run.world.stderr.write(`${line}\n`)
      return this.#inTurn((ask) => fillIn(form, { show, ask }), over)
    }
    this.#note('not answered', form.message)
    return { action: this.#of.policy === 'deny' ? 'decline' : 'cancel' }
  }

  /** Resolves once all that was told is shown. */
  async quiet(): Promise<void> {
    await this.#before
  }

  /** After the last that the agent said. */
  endLine(): void {
    if (this.#isInLine) this.#run.world.stdout.write('\n')
    this.#isInLine = false
  }

  async #sessionTools({ sessionTool }: AskedPermission): Promise<readonly string[]> {
    if (sessionTool === undefined || this.#of.policy !== 'allow-session-tools') return []
    // Asked each time: what the session has may change while it runs.
    const { tools } = await this.#run.call('session.show', { params: { id: this.#of.session } })
    return tools.map(({ name }) => name)
  }

  #allows({ title, kind }: AskedPermission, over: AbortSignal): Promise<boolean> {
    const question = `Allow ${cellText(title)} (${cellText(kind)}), inside the sandbox? [y/N] `
    return this.#inTurn(async (ask) => {
      const line = await ask(question)
      const isAllowed = line !== undefined && /^y(?:es)?$/i.test(line.trim())
      // Here, so that it does not stand in the next question.
      if (!isAllowed) this.#note('refused', title)
      return isAllowed
    }, over)
  }

  #isThere(): boolean {
    const { stdin, stderr } = this.#run.world
    return stdin.isTTY === true && stderr.isTTY === true
  }

  #inTurn<T>(work: (ask: Asker['ask']) => Promise<T>, withdrawn: AbortSignal): Promise<T> {
    const { over: gone, interrupted } = this.#of
    const over = AbortSignal.any([withdrawn, gone])
    const ask: Asker['ask'] = (question) =>
      readLine(this.#run.world, { question, over, interrupted })
    this.#questions++
    return this.#inOrder(() => {
      this.endLine()
      return work(ask)
    }).finally(() => this.#questions--)
  }

  #inOrder<T>(work: () => T | Promise<T>): Promise<T> {
    const done = this.#before.then(work)
    this.#before = done.catch(() => undefined)
    return done
  }

  async #print(text: string): Promise<void> {
    const { stdout } = this.#run.world
    if (text !== '') this.#isInLine = !text.endsWith('\n')
    await writeOut(stdout, stdout.isTTY === true ? shownLines(text) : text)
  }

  #note(what: string, text: string): void {
    const { stdout, stderr } = this.#run.world
    if (stdout.isTTY === true) this.endLine()
    stderr.write(`${what}: ${cellText(text)}\n`)
  }
}

/** A terminal obeys what it is shown; lines and tabs are all that is let through. */
function shownLines(text: string): string {
  return text
    .split(/([\n\t])/)
    .map((part) => (part === '\n' || part === '\t' ? part : shownText(part)))
    .join('')
}
