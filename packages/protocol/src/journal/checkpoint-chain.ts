/** Follows the chain of checkpoints: signed, linked, without a gap. */
import { digestBytes } from '../digest.ts'
import { type CheckpointContent, readCheckpoint } from './checkpoint.ts'
import type { Findings } from './finding.ts'
import type { KeyRing } from './journal-key.ts'
import type { CheckpointLine } from './line.ts'

export class CheckpointChain {
  readonly #findings: Findings
  readonly #keys: KeyRing
  #next = 1
  #previous: string | null = null
  /** Sequence of the first that is read; null: the first of all. */
  base: number | null = null
  count = 0
  newest: { readonly sequence: number; readonly at: number } | null = null

  constructor(findings: Findings, keys: KeyRing) {
    this.#findings = findings
    this.#keys = keys
  }

  /** What it says, when that can be believed. */
  add(line: CheckpointLine): CheckpointContent | undefined {
    const { sequence } = line
    const isBase = this.count === 0 && sequence === this.base
    this.count++
    if (sequence < this.#next)
      this.#findings.add('checkpoint_out_of_order', { checkpoint: sequence })
    else if (!isBase)
      for (let missing = this.#next; missing < sequence && missing < this.#next + 100; missing++)
        this.#findings.add('checkpoint_missing', { checkpoint: missing })
    const isNext = sequence === this.#next
    const content = this.#open(line)
    if (content && isNext && !isBase && content.previous !== this.#previous)
      this.#findings.add('checkpoint_unlinked', { checkpoint: sequence })
    this.#next = Math.max(this.#next, sequence + 1)
    this.#previous = digestBytes(line.jws)
    if (content) this.newest = { sequence, at: content.at }
    return content
  }

  /** The gateway knows of checkpoints up to `newest`. */
  finish(newest: number | null): void {
    if (newest !== null && newest >= this.#next)
      this.#findings.add('checkpoint_missing', { checkpoint: this.#next })
  }

  #open({ sequence, at, position, jws }: CheckpointLine): CheckpointContent | undefined {
    const opened = this.#keys.open(jws, 'checkpoints')
    if ('problem' in opened && opened.problem === 'key_unknown') {
      this.#findings.add('key_unknown', { checkpoint: sequence, kid: opened.kid })
      return undefined
    }
    const content = 'content' in opened ? readCheckpoint(opened.content) : undefined
    const isSame =
      content?.sequence === sequence && content.at === at && content.position === position
    if (!content || !isSame) {
      this.#findings.add('checkpoint_changed', { checkpoint: sequence })
      return undefined
    }
    return content
  }
}
