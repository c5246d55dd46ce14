/** Seals where a webhook goes and what it is signed with. Checks first, as the worker does again when it opens it. */
import { randomBytes } from 'node:crypto'
import type { WebhookId } from './ids.ts'
import { checkWebhookSecret, parseEndpoint } from './names.ts'
import { seal, type VaultPublicKey } from './seal.ts'
import type { WebhookClear, WebhookSecret } from './worker-wire.ts'

/** By which people and scanners know such a secret; it is no part of the key. */
const prefix = 'whsec_'

export interface WebhookToSeal {
  readonly url: string
  /** Base64 of 24 to 64 bytes, with or without `whsec_` before it. */
  readonly secret: string
  readonly webhookId: WebhookId
  /** Of the row: 1 for a new webhook. */
  readonly version: number
  /** `org`, `project:<name>` or `personal:<user id>`. */
  readonly scope: string
  readonly key: VaultPublicKey
  /** May plain http toward this machine pass? (`vault.show` tells.) */
  readonly localAllowed: boolean
}

export interface SealedWebhook {
  readonly seal: string
  readonly clear: WebhookClear
}

/** Throws `bad_url`, `bad_secret`. */
export function sealWebhook(input: WebhookToSeal): SealedWebhook {
  const { webhookId: id, version, scope } = input
  const { url, scheme, host, port } = parseEndpoint(input.url, input.localAllowed)
  const secret = input.secret.startsWith(prefix) ? input.secret.slice(prefix.length) : input.secret
  checkWebhookSecret(secret)
  const plaintext: WebhookSecret = { url, secret }
  return {
    seal: seal(plaintext, { kind: 'webhook', id, scope, version }, input.key),
    clear: { scheme, host, port },
  }
}

/** As it is shown to whoever sets the receiver up, once: 32 random bytes. */
export function newWebhookSecret(): string {
  return prefix + randomBytes(32).toString('base64')
}
