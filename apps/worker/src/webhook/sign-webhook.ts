/** The headers of a webhook, as Standard Webhooks 1.0.0 wants them. */
import { createHmac } from 'node:crypto'
import { release } from '@sallyport/protocol'

/** Name, value, name, value. `seconds`: since 1970, of this attempt; an old one is how a replay is known. */
export function webhookHeaders(
  eventId: string,
  seconds: number,
  body: Buffer,
  key: Buffer,
): string[] {
  const signature = createHmac('sha256', key)
    .update(`${eventId}.${seconds}.`)
    .update(body)
    .digest('base64')
  return [
    'content-type',
    'application/json',
    'user-agent',
    `sallyport/${release}`,
    'webhook-id',
    eventId,
    'webhook-timestamp',
    String(seconds),
    'webhook-signature',
    `v1,${signature}`,
  ]
}
