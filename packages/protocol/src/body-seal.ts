/**
 * Seals of kept arguments and results: AES-256-GCM with the data key, which gateways hold and the database does not. A
 * version byte and the key's id stand in front; both, the kind and the execution are bound, so that a seal moved to
 * another row does not open.
 */
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hash,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { SallyportError } from './errors.ts'
import type { ExecutionId } from './ids.ts'

export interface DataKey {
  /** 16 hexadecimal digits: it tells keys apart and says nothing of them. */
  readonly id: string
  readonly key: KeyObject
}

type BodyKind = 'arguments' | 'result'

const version = 1
const keyBytes = 32
const idBytes = 8
const nonceBytes = 12
const tagBytes = 16
const headBytes = 1 + idBytes
const algorithm = 'aes-256-gcm'

/** Throws TypeError for anything but 32 bytes. */
export function dataKey(bytes: Uint8Array): DataKey {
  if (bytes.length !== keyBytes) throw new TypeError('a data key has 32 bytes')
  const id = hash('sha256', Buffer.concat([Buffer.from('sallyport data key\0'), bytes]), 'hex')
  return { id: id.slice(0, 2 * idBytes), key: createSecretKey(bytes) }
}

export interface BodySeals {
  seal(executionId: ExecutionId, kind: BodyKind, plain: string | Uint8Array): Uint8Array
  /** Throws `row_unreadable` for what was not sealed so, with one of the keys. */
  open(executionId: ExecutionId, kind: BodyKind, sealed: Uint8Array): Buffer
}

/** The first key seals, all of them open. */
export function bodySealer(keys: readonly [DataKey, ...DataKey[]]): BodySeals {
  const [first] = keys
  const byId = new Map(keys.map(({ id, key }) => [id, key]))
  const head = Buffer.concat([Buffer.of(version), Buffer.from(first.id, 'hex')])
  return {
    seal: (executionId, kind, plain) => {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv(algorithm, first.key, nonce)
      cipher.setAAD(boundTo(head, kind, executionId))
      const sealed = [cipher.update(plain), cipher.final()]
      return Buffer.concat([head, nonce, ...sealed, cipher.getAuthTag()])
    },
    open: (executionId, kind, sealed) => {
      try {
        return open(byId, executionId, kind, Buffer.from(sealed))
      } catch (cause) {
        throw new SallyportError('row_unreadable', { cause })
      }
    },
  }
}

function open(
  keys: ReadonlyMap<string, KeyObject>,
  executionId: ExecutionId,
  kind: BodyKind,
  sealed: Buffer,
): Buffer {
  const head = sealed.subarray(0, headBytes)
  const key = keys.get(head.toString('hex', 1))
  if (head[0] !== version || !key) throw new Error(`no key for the ${kind} of ${executionId}`)
  const body = sealed.subarray(headBytes)
  const nonce = body.subarray(0, nonceBytes)
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes })
  decipher.setAAD(boundTo(head, kind, executionId))
  decipher.setAuthTag(body.subarray(-tagBytes))
  return Buffer.concat([decipher.update(body.subarray(nonceBytes, -tagBytes)), decipher.final()])
}

function boundTo(head: Buffer, kind: BodyKind, executionId: ExecutionId): Buffer {
  return Buffer.concat([head, Buffer.from(`${kind} ${executionId}`)])
}
