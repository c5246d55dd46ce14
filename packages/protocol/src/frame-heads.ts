/**
 * What the head of a frame has to be before anybody acts on it. The other end is our own program with a certificate of
 * ours, but what it says is not believed further than that: a head that is another thing is no frame of a peer. Members
 * that are not known here are passed over.
 */
import { vaultSources } from './api/keys.ts'
import { isErrorCode } from './errors.ts'
import type { FrameKind } from './frames.ts'
import { verdicts } from './worker-wire.ts'

type Members = Readonly<Record<string, unknown>>
type Is = (value: unknown) => boolean

/** Ids, instances, key names; none of ours is longer. */
const idLength = 128
/** A seal of the longest secrets that may be sealed, and to spare. */
const sealLength = 1024 * 1024
const textLength = 65_536

const text =
  (most: number): Is =>
  (value) =>
    typeof value === 'string' && value.length <= most
const id = text(idLength)
const whole: Is = (value) => Number.isSafeInteger(value)
const count: Is = (value) => whole(value) && (value as number) >= 0
const flag: Is = (value) => typeof value === 'boolean'
const finite: Is = (value) => Number.isFinite(value)
const digest: Is = (value) => typeof value === 'string' && /^sha256:[0-9a-f]{64}$/.test(value)
const oneOf =
  (values: readonly unknown[]): Is =>
  (value) =>
    values.includes(value)
const optional =
  (is: Is): Is =>
  (value) =>
    value === undefined || is(value)
const listOf =
  (is: Is): Is =>
  (value) =>
    Array.isArray(value) && value.every(is)

/** An object whose own members are so. Most of those that may be there are not: only what is there is looked at. */
function members(rules: Readonly<Record<string, Is>>): Is {
  const known = new Map(Object.entries(rules))
  const required = [...known].flatMap(([name, is]) => (is(undefined) ? [] : [name]))
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
    for (const name of required) if (!Object.hasOwn(value, name)) return false
    for (const name of Object.keys(value))
      if (known.get(name)?.((value as Members)[name]) === false) return false
    return true
  }
}

const jwk = members({ kty: oneOf(['OKP']), crv: oneOf(['X25519']), x: id })
const publicKey = members({ kid: id, jwk })
const heldKey = members({ kid: id, jwk, madeAt: (value) => value === null || finite(value) })
const vault = members({
  source: oneOf(vaultSources),
  keys: (value) => listOf(heldKey)(value) && (value as readonly unknown[]).length > 0,
  retired: listOf(id),
})
const result = members({
  intent: id,
  verdict: oneOf(verdicts),
  code: optional(isErrorCode),
  rpcError: optional(flag),
  isError: optional(flag),
  status: optional(count),
  digest: optional(digest),
  bytes: optional(count),
  isCut: optional(flag),
  withheld: optional(oneOf(['too_large', 'credential', 'dropped'])),
  requiredScope: optional(text(textLength)),
  serverRequests: optional(count),
  violations: optional(count),
  tookMs: optional(finite),
})
const nullable =
  (is: Is): Is =>
  (value) =>
    value === null || is(value)
const walls = members({
  boot: nullable(id),
  namespaces: nullable(members({ ipc: id, mnt: id, pid: id, uts: id })),
  root: nullable(members({ place: text(textLength), isReadOnly: flag })),
  uid: nullable(count),
  hasCapabilities: nullable(flag),
  noNewPrivileges: nullable(flag),
  seccomp: nullable(flag),
  nodePermission: flag,
  variables: count,
})
const listener = members({ host: id, port: count })
const question = members({ id, iat: whole, aud: id })
const digestsByName: Is = (value) =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every(digest)
const counted = members({ n: whole })
const one = members({ intent: id })

/** A kind that is not in use has no head that is right. */
const heads: Readonly<Partial<Record<FrameKind, Is>>> = {
  hello: members({
    wire: whole,
    release: id,
    build: id,
    role: oneOf(['gateway', 'worker']),
    instance: id,
    now: finite,
    pid: count,
    memorySince: optional(finite),
    vault: optional(publicKey),
    keys: optional(vault),
    walls: optional(walls),
    coreDumps: optional(oneOf(['off', 'on', 'unknown'])),
    refused: optional(oneOf(['clock_skew', 'wrong_release'])),
    ownListeners: optional(listOf(listener)),
  }),
  intents: members({ batch: digest, jws: text(textLength * 16) }),
  body: members({
    intent: id,
    endpoint: optional(text(sealLength)),
    credential: optional(text(sealLength)),
  }),
  committed: members({ batch: digest, admitted: listOf(count) }),
  abort: members({ batch: digest }),
  result,
  late: result,
  progress: members({
    intent: id,
    progress: finite,
    total: optional(finite),
    message: optional(text(textLength)),
  }),
  settled: members({ intents: listOf(id) }),
  recover: members({ intents: listOf(question) }),
  recovered: members({
    intent: id,
    instance: id,
    state: oneOf(['result', 'running', 'never_started', 'not_known']),
    result: optional(result),
  }),
  cancel: one,
  release: members({ connectionId: id }),
  observed: members({
    connectionId: id,
    connectionRevision: count,
    digest,
    at: finite,
    tools: digestsByName,
  }),
  vault,
  ping: counted,
  pong: counted,
}

/** Whether a peer of ours could have said that. A frame of which it is not true ends the connection. */
export function isHeadOf(kind: FrameKind, head: unknown): boolean {
  return heads[kind]?.(head) ?? false
}
