/**
 * The Mcp-Session-Id of the legacy eras: a random part and a MAC that binds it to the Sallyport session. It needs no
 * state, so every gateway that shares the key knows it, also after a restart.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { SessionId } from '@sallyport/protocol'

const randomBytes = 16
const form = /^([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/

export interface McpSessionIds {
  issue(session: SessionId): string
  /** False for anything this deployment did not issue to this session. */
  verify(session: SessionId, id: string): boolean
}

export function mcpSessionIds(
  macKey: Uint8Array,
  random: (size: number) => Uint8Array,
): McpSessionIds {
  if (macKey.byteLength < 32) throw new TypeError('macKey must have at least 32 bytes')
  const mac = (session: SessionId, part: string): string =>
    createHmac('sha256', macKey).update(`mcp-session-id\n${session}\n${part}`).digest('base64url')
  return {
    issue: (session) => {
      const part = Buffer.from(random(randomBytes)).toString('base64url')
      return `${part}.${mac(session, part)}`
    },
    verify: (session, id) => {
      const [, part, tag] = form.exec(id) ?? []
      if (part === undefined || tag === undefined) return false
      return timingSafeEqual(Buffer.from(mac(session, part)), Buffer.from(tag))
    },
  }
}
