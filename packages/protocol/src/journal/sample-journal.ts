/** Journals for tests, as a gateway would write them, with a key that is always the same. */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { type Digest, digestBytes } from '../digest.ts'
import { type JournalHead, signCheckpoint } from './checkpoint.ts'
import type { EventKind, JournalEvent } from './event.ts'
import { type JournalSigner, journalJwk, journalKid } from './journal-key.ts'
import { checkpointLine, endLine, headerLine, keyLine, type PageLine, pageLine } from './line.ts'
import { composePage, signOpening } from './page.ts'

export const start = 1_800_000_000_000

/** From a seed, so that signatures can be pinned. */
export function sampleSigner(seed = 1): JournalSigner {
  const pkcs8 = Buffer.from('302e020100300506032b657004220420', 'hex')
  const der = Buffer.concat([pkcs8, Buffer.alloc(32, seed)])
  const privateKey: KeyObject = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const jwk = journalJwk.parse(createPublicKey(privateKey).export({ format: 'jwk' }))
  return { kid: journalKid(jwk), jwk, privateKey }
}

interface Head {
  sequence: number
  hash: Digest | null
}

/** Appends as it is told; `lines` is the whole export so far. */
export class SampleJournal {
  readonly signer: JournalSigner
  readonly #body: string[] = []
  readonly #heads = new Map<string, Head>()
  readonly #listed = new Map<string, number>()
  #checkpoint = 0
  #previous: Digest | null = null
  #pages = 0
  at = start

  constructor(signer = sampleSigner()) {
    this.signer = signer
  }

  page(stream: string, ...events: readonly JournalEvent[]): PageLine {
    const head = this.#heads.get(stream) ?? { sequence: 0, hash: null }
    const first = head.sequence + 1
    const last = head.sequence + events.length
    const { text, hash } = composePage({
      v: 1,
      stream,
      first,
      previous: head.hash,
      instance: 'ins_a',
      opening: head.hash ? undefined : signOpening({ stream, instance: 'ins_a' }, this.signer),
      at: this.at,
      events,
    })
    this.#heads.set(stream, { sequence: last, hash })
    const page = { stream, first, last, hash, text }
    this.#pages++
    this.#body.push(pageLine(page))
    return page
  }

  /** Lists what grew, or what it is told to. */
  checkpoint(heads: readonly JournalHead[] = this.#grown()): void {
    const content = {
      v: 1,
      sequence: ++this.#checkpoint,
      previous: this.#previous,
      at: this.at,
      position: this.#pages,
      heads,
    } as const
    const jws = signCheckpoint(content, this.signer)
    for (const { stream, sequence } of heads) this.#listed.set(stream, sequence)
    this.#previous = digestBytes(jws)
    const { sequence, at, position } = content
    this.#body.push(checkpointLine({ sequence, at, position, jws }))
  }

  lines(): string[] {
    const { kid, jwk } = this.signer
    return [
      headerLine({ v: 1, at: this.at, from: null }),
      keyLine({ kid, jwk, at: start }),
      ...this.#body,
      endLine({ checkpoint: this.#checkpoint || null }),
    ]
  }

  #grown(): JournalHead[] {
    return [...this.#heads].flatMap(([stream, { sequence, hash }]) =>
      hash !== null && sequence > (this.#listed.get(stream) ?? 0)
        ? [{ stream, sequence, hash }]
        : [],
    )
  }
}

export function sampleEvent(
  execution: string,
  sequence: number,
  kind: EventKind,
  more: Partial<JournalEvent> = {},
): JournalEvent {
  return { kind, at: start, execution, sequence, ...more }
}
