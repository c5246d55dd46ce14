/** What webhooks are told of a decision: who and what by id and name, never arguments, results or notes. */
import { escapeText, type IdSource } from '@sallyport/protocol'
import type { Execution } from '../execution/execution.ts'
import type { Tx } from '../store.ts'
import type { Webhook, WebhookDelivery, WebhookEvent } from './webhook.ts'

export interface ToldEvent {
  readonly event: WebhookEvent
  readonly at: number
  readonly execution: Pick<
    Execution,
    'id' | 'sessionId' | 'ownerId' | 'connectionName' | 'tool' | 'approvalId' | 'argumentsDigest'
  >
  /** Of an approval that is pending: until when. */
  readonly expiresAt?: number
}

export function toldEvent(
  event: WebhookEvent,
  at: number,
  execution: ToldEvent['execution'],
  expiresAt?: number,
): ToldEvent {
  return { event, at, execution, ...(expiresAt === undefined ? {} : { expiresAt }) }
}

/** Puts events into the outbox, in the transaction that made them true: none is told of that did not happen, and none is lost. */
export async function enqueueTold(
  tx: Tx,
  told: readonly ToldEvent[],
  ids: IdSource,
): Promise<void> {
  if (told.length === 0) return
  const webhooks = await tx.webhooks.list()
  if (webhooks.length === 0) return
  const names = await ownerNames(tx, told)
  const now = await tx.now()
  await tx.webhooks.enqueue(told.flatMap((one) => deliveriesOf(one, webhooks, names, { now, ids })))
}

/** The same for an event of no execution; `text` is what is sent. */
export async function enqueueText(
  tx: Tx,
  event: WebhookEvent,
  text: string,
  ids: IdSource,
): Promise<void> {
  const webhooks = (await tx.webhooks.list()).filter(({ events }) => events.includes(event))
  if (webhooks.length === 0) return
  const now = await tx.now()
  await tx.webhooks.enqueue(
    webhooks.map(({ id }) => ({
      ...{ id: ids('delivery'), webhookId: id, event, text },
      ...{ createdAt: now, attempts: 0, nextAt: now },
    })),
  )
}

function deliveriesOf(
  told: ToldEvent,
  webhooks: readonly Webhook[],
  names: ReadonlyMap<string, string>,
  { now, ids }: { now: number; ids: IdSource },
): WebhookDelivery[] {
  const text = bodyOf(told, names)
  return webhooks
    .filter(({ events }) => events.includes(told.event))
    .map(({ id }) => ({
      id: ids('delivery'),
      webhookId: id,
      event: told.event,
      text,
      createdAt: now,
      attempts: 0,
      nextAt: now,
    }))
}

function bodyOf(
  { event, at, execution, expiresAt }: ToldEvent,
  names: ReadonlyMap<string, string>,
) {
  const { id, sessionId, ownerId, connectionName, tool, approvalId, argumentsDigest } = execution
  return JSON.stringify({
    type: event,
    timestamp: new Date(at).toISOString(),
    data: {
      executionId: id,
      approvalId: approvalId ?? undefined,
      sessionId,
      requester: names.get(ownerId),
      connection: connectionName,
      tool: escapeText(tool),
      argumentsDigest: argumentsDigest ?? undefined,
      expiresAt: expiresAt === undefined ? undefined : new Date(expiresAt).toISOString(),
    },
  })
}

async function ownerNames(tx: Tx, told: readonly ToldEvent[]): Promise<Map<string, string>> {
  const names = new Map<string, string>()
  for (const { execution } of told) {
    if (names.has(execution.ownerId)) continue
    const user = await tx.users.get(execution.ownerId)
    if (user) names.set(user.id, user.name)
  }
  return names
}
