/** Collects a request body, counting the bytes that come instead of believing the header. */
import type { IncomingMessage } from 'node:http'

export type Body =
  /** `release` gives its bytes back to the budget: parts of it are held as long as the request is served. */
  | { readonly kind: 'read'; readonly bytes: Buffer; readonly release: () => void }
  | { readonly kind: 'too_large' }
  /** All bodies of this session that are being sent or served are too many together. */
  | { readonly kind: 'too_many' }
  | { readonly kind: 'gone' }

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
      const [first] = chunks
      const bytes = chunks.length === 1 && first ? first : Buffer.concat(chunks)
      end({ kind: 'read', bytes, release })
    })
    req.on('error', () => end({ kind: 'gone' }))
  })
}
