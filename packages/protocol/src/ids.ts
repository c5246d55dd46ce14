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

/** By a number of ten bits: two characters. */
const pairs = Array.from({ length: 1024 }, (_, bits) => digitsOf(bits >>> 5, bits & 31))
const countLimit = 2 ** 20

/**
 * Ids of one source sort in the order they were made, also within one millisecond: 48 bits of time, then 80 bits
 * that start at random and count up while the millisecond stands still.
 */
export function idSource(now: () => number, random: (size: number) => Uint8Array): IdSource {
  let lastTime = -1
  let timeText = ''
  // The 80 bits: twelve characters that seldom change, and a number for the last four.
  let high = ''
  let count = 0
  return (kind) => {
    let time = Math.max(now(), lastTime)
    if (time === lastTime && ++count === countLimit) {
      count = 0
      high = following(high) ?? ''
      if (high === '') time++
    }
    if (time > lastTime) {
      timeText = encodeTime(time)
      const tail = encodeTail(random(10))
      high = tail.slice(0, 12)
      count = [...tail.slice(12)].reduce((sum, digit) => sum * 32 + alphabet.indexOf(digit), 0)
    }
    lastTime = time
    const last = `${pairs[count >>> 10]}${pairs[count & 1023]}`
    return `${prefixes[kind]}_${timeText}${high}${last}` as Id<typeof kind>
  }
}

function digitsOf(...digits: readonly number[]): string {
  return digits.map((digit) => alphabet[digit]).join('')
}

/** The next text in order of the same length; undefined after the last one. */
function following(text: string): string | undefined {
  for (let at = text.length - 1; at >= 0; at--) {
    const digit = alphabet.indexOf(text.charAt(at))
    if (digit < 31) return `${text.slice(0, at)}${alphabet[digit + 1]}`.padEnd(text.length, '0')
  }
  return undefined
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
