/** Branded ids: a three-letter prefix and a time-ordered body. No two kinds are assignable to each other. */
const prefixes = {
  connection: 'con',
  credential: 'crd',
  catalog: 'cat',
  profile: 'pro',
  grant: 'gra',
  session: 'ses',
  binding: 'bnd',
  execution: 'exe',
  intent: 'int',
  approval: 'apr',
  input: 'inp',
  user: 'usr',
  token: 'tok',
  instance: 'ins',
  stream: 'str',
  webhook: 'whk',
  delivery: 'dlv',
  oauthClient: 'oac',
  oauthFlow: 'flw',
  service: 'svc',
} as const

export type IdKind = keyof typeof prefixes
export type Id<K extends IdKind> = string & { readonly __kind: K }

export type ConnectionId = Id<'connection'>
export type CredentialId = Id<'credential'>
export type CatalogId = Id<'catalog'>
export type ProfileId = Id<'profile'>
export type GrantId = Id<'grant'>
export type SessionId = Id<'session'>
export type BindingId = Id<'binding'>
export type ExecutionId = Id<'execution'>
export type IntentId = Id<'intent'>
export type ApprovalId = Id<'approval'>
export type WebhookId = Id<'webhook'>
export type DeliveryId = Id<'delivery'>
export type OAuthClientId = Id<'oauthClient'>
export type OAuthFlowId = Id<'oauthFlow'>
export type ServiceId = Id<'service'>
export type UserId = Id<'user'>
export type TokenId = Id<'token'>
export type InstanceId = Id<'instance'>
export type StreamId = Id<'stream'>

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const body = /^[0-9a-hjkmnp-tv-z]{26}$/

/** Makes ids. `now` is milliseconds since 1970, `random` fills ten bytes. */
export type IdSource = <K extends IdKind>(kind: K) => Id<K>

/**
 * Ids of one source sort in the order they were made, also within one millisecond: 48 bits of time, then 80 bits
 * that start at random and count up while the millisecond stands still.
 */
export function idSource(now: () => number, random: (size: number) => Uint8Array): IdSource {
  let lastTime = -1
  let tail = new Uint8Array(10)
  return (kind) => {
    let time = Math.max(now(), lastTime)
    if (time === lastTime && !increment(tail)) time++
    if (time > lastTime) tail = Uint8Array.from(random(10))
    lastTime = time
    return `${prefixes[kind]}_${encodeTime(time)}${encodeTail(tail)}` as Id<typeof kind>
  }
}

/** False when all bits were set: there is no next one. */
function increment(bytes: Uint8Array): boolean {
  for (let i = bytes.length - 1; i >= 0; i--) {
    bytes[i] = ((bytes[i] as number) + 1) & 255
    if (bytes[i] !== 0) return true
  }
  return false
}

function encodeTime(time: number): string {
  let text = ''
  for (let i = 0, rest = time; i < 10; i++, rest = Math.floor(rest / 32))
    text = alphabet[rest % 32] + text
  return text
}

function encodeTail(bytes: Uint8Array): string {
  let text = ''
  let bits = 0
  let value = 0
  for (const byte of bytes) {
    value = (value << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += alphabet[(value >>> bits) & 31]
    }
    value &= (1 << bits) - 1
  }
  return text
}

/** True only for a well-formed id of that kind. */
export function isId<K extends IdKind>(kind: K, text: unknown): text is Id<K> {
  return (
    typeof text === 'string' && text.startsWith(`${prefixes[kind]}_`) && body.test(text.slice(4))
  )
}
