/**
 * A checkpoint: signed, in a chain of its own, it lists the head of each stream that grew since a checkpoint last
 * listed it. Together with those before it, it says where every stream stood.
 */
import { z } from 'zod'
import { type JournalSigner, signJournal } from './journal-key.ts'

const head = z.strictObject({
  stream: z.string(),
  sequence: z.int().positive(),
  /** Of the page that ends with this sequence. */
  hash: z.string(),
})
export type JournalHead = Readonly<z.infer<typeof head>>

const checkpoint = z.strictObject({
  v: z.literal(1),
  sequence: z.int().positive(),
  /** Digest of the JWS of the checkpoint before; null in the first. */
  previous: z.string().nullable(),
  at: z.int(),
  /** Every page that it covers is kept at this position or before. */
  position: z.int().nonnegative(),
  heads: z.array(head),
})
export type CheckpointContent = Readonly<
  Omit<z.infer<typeof checkpoint>, 'heads'> & { heads: readonly JournalHead[] }
>

export function signCheckpoint(content: CheckpointContent, signer: JournalSigner): string {
  return signJournal(content, signer)
}

/** Undefined for what `signCheckpoint` never signs. */
export function readCheckpoint(content: unknown): CheckpointContent | undefined {
  return checkpoint.safeParse(content).data
}
