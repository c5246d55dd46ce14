/** Collects a request body, counting the bytes that come instead of believing the header. */
import type { IncomingMessage } from 'node:http'

export type Body =
  | BodyRead
  | { readonly kind: 'too_large' }
  /** All bodies of this session that are being sent or served are too many together. */
  | { readonly kind: 'too_many' }
  | { readonly kind: 'gone' }

export interface BodyRead {
  readonly kind: 'read'
  /** The bytes, once: whoever has them is the only one, so that a call that is held for long holds them no longer. */
  readonly take: () => Buffer
  /** Gives them back to the budget: parts of them are held as long as the request is served. */
  readonly release: () => void
}

export interface ByteBudget {
  /** False when the bytes do not fit. */
  take(bytes: number): boolean
  give(bytes: number): void
}

/** Resolves once, never rejects. What was not read stays unread; the caller ends the connection. */
export function readBody(req: IncomingMessage, limit: number, budget: ByteBudget): Promise<Body> {
  if (Number(req.headers['content-length'] ?? 0) > limit)
    return Promise.resolve({ kind: 'too_large' })
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let size = 0
    let taken = 0
    const release = (): void => {
      budget.give(taken)
      taken = 0
    }
    const end = (body: Body): void => {
      req.off('data', onData)
      if (body.kind !== 'read') {
        release()
        req.pause()
      }
      resolve(body)
    }
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      if (size > limit) {
        end({ kind: 'too_large' })
      } else if (!budget.take(chunk.length)) {
        end({ kind: 'too_many' })
      } else {
        taken += chunk.length
        chunks.push(chunk)
      }
    }
    req.on('data', onData)
    req.on('end', () => {
      end({ kind: 'read', take: () => joined(chunks.splice(0)), release })
    })
    req.on('error', () => end({ kind: 'gone' }))
  })
}

function joined(chunks: readonly Buffer[]): Buffer {
  const [first] = chunks
  return chunks.length === 1 && first ? first : Buffer.concat(chunks)
}
