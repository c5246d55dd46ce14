/** What the journal tells: an event says by value what was decided about one execution, never a body or a secret. */
import { z } from 'zod'
import { executionStates } from '../api/executions.ts'

/** An execution that came into a state, and what else is told. A kind that a later release adds is passed over. */
export const eventKinds = [...executionStates, 'claimed', 'restored'] as const
export type EventKind = (typeof eventKinds)[number]

/** What an event says of an execution, named as in its row: what is told once stands until another event tells it. */
export const executionFacts = [
  'sessionId',
  'ownerId',
  'callId',
  'connectionId',
  'connectionName',
  'tool',
  'mode',
  'bindingHash',
  'argumentsDigest',
  'intentId',
  'intentDigest',
  'gatewayInstance',
  'code',
  'resultDigest',
  'resultBytes',
] as const
type Fact = (typeof executionFacts)[number]
export type ExecutionFacts = { readonly [Name in Fact]?: string | number | null | undefined }

export interface JournalEvent extends ExecutionFacts {
  readonly kind: EventKind
  /** When it was decided, ms since 1970. */
  readonly at: number
  /** Absent where it is not about an execution. */
  readonly execution?: string
  /** The execution's own sequence: 1, 2, … across all streams. */
  readonly sequence?: number
  /** Status, server requests and violations, as in the row. */
  readonly notes?: Readonly<Record<string, unknown>> | undefined
}

const fact = z.union([z.string(), z.number(), z.null()]).optional()

/** As it is read: kinds and fields of a later release are let through. */
export const journalEvent = z.looseObject({
  kind: z.string(),
  at: z.int(),
  execution: z.string().optional(),
  sequence: z.int().positive().optional(),
  ...(Object.fromEntries(executionFacts.map((name) => [name, fact])) as Record<Fact, typeof fact>),
})
export type ReadEvent = z.infer<typeof journalEvent>
