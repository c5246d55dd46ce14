/** What the journal tells: an event says by value what was decided about one execution, never a body or a secret. */
import { z } from 'zod'
import { executionStates } from '../api/executions.ts'

/**
 * An execution that came into a state, what became of a credential (its id and version are in the notes) or a sign-in,
 * and what else is told. A kind that a later release adds is passed over.
 */
export const eventKinds = [
  ...executionStates,
  'claimed',
  'restored',
  'credential_renewed',
  /** The answer to a refresh that a gateway left behind was found. */
  'credential_recovered',
  /** Nobody can say what became of a refresh that a gateway left behind; another one tells. */
  'credential_unclear',
  'credential_broken',
  'credential_revoked',
  /** The authorization server was asked to revoke it; `code` where it did not. */
  'credential_revocation',
  /** Of somebody's sign-in (`flowId` in the notes): who began it is told as well. */
  'sign_in_begun',
  'sign_in_completed',
  /** By the person, the authorization server or the worker; `code` says why. */
  'sign_in_refused',
  /** Nobody came back in time. */
  'sign_in_abandoned',
  /** The gateway that finished it is gone: what the authorization server gave, if it did, is lost. */
  'sign_in_interrupted',
  /** Somebody changed what may be done, or who may: who, what and of what is in the notes. */
  'changed',
] as const
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
  'approvalId',
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
