/** What is inside the seal of a webhook, checked by the same rules that ran where it was sealed. */
import { checkWebhookSecret, type Origin, SallyportError } from '@sallyport/protocol'
import type { WebhookSecret } from '@sallyport/protocol/node'
import { readEndpoint } from './read-secrets.ts'

/** Held for the length of one attempt, never remembered. */
export interface OpenedWebhook extends Origin {
  /** Path and query, as sent. */
  readonly path: string
  /** What it is signed with. */
  readonly key: Buffer
}

/** Throws `seal_unreadable`, `bad_url`, `bad_secret`, `local_upstreams_off`. */
export function readWebhook(plaintext: unknown, localAllowed: boolean): OpenedWebhook {
  const { secret } = (plaintext ?? {}) as Partial<WebhookSecret>
  const { scheme, host, port, path } = readEndpoint(plaintext, localAllowed)
  if (typeof secret !== 'string') throw new SallyportError('seal_unreadable')
  checkWebhookSecret(secret)
  return { scheme, host, port, path, key: Buffer.from(secret, 'base64') }
}
