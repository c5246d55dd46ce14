/** Follows the chain of checkpoints: signed, linked, without a gap. */
import { digestBytes } from '../digest.ts'
import {
  type CheckpointContent,
  type JournalJwk,
  journalKid,
  kidOf,
  openCheckpoint,
} from './checkpoint.ts'
import type { Findings } from './finding.ts'
import type { CheckpointLine, KeyLine } from './line.ts'

export class CheckpointChain {
  readonly #findings: Findings
  readonly #keys = new Map<string, JournalJwk>()
  readonly #signed = new Map<string, number>()
  #next = 1
  #previous: string | null = null
  /** Sequence of the first that is read; null: the first of all. */
  base: number | null = null
  count = 0
  newest: { readonly sequence: number; readonly at: number } | null = null

  constructor(findings: Findings) {
    this.#findings = findings
  }

  addKey({ kid, jwk }: KeyLine): void {
    if (journalKid(jwk) === kid) this.#keys.set(kid, jwk)
    else this.#findings.add('key_changed', { kid })
  }

  /** How many checkpoints each key has signed. */
  signers(): { readonly kid: string; readonly checkpoints: number }[] {
    return [...this.#signed].map(([kid, checkpoints]) => ({ kid, checkpoints }))
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
    const kid = kidOf(jws)
    const jwk = kid === undefined ? undefined : this.#keys.get(kid)
    if (kid !== undefined && !jwk) {
      this.#findings.add('key_unknown', { checkpoint: sequence, kid })
      return undefined
    }
    const content = kid && jwk ? openCheckpoint(jws, kid, jwk) : undefined
    const isSame =
      content?.sequence === sequence && content.at === at && content.position === position
    if (!content || !isSame) {
      this.#findings.add('checkpoint_changed', { checkpoint: sequence })
      return undefined
    }
    this.#signed.set(kid as string, (this.#signed.get(kid as string) ?? 0) + 1)
    return content
  }
}
