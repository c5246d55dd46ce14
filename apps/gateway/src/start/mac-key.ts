import { randomBytes } from 'node:crypto'
import type { Store } from '@sallyport/core'

const name = 'internal.legacySessionKey'

/** The key of the MACs in `Mcp-Session-Id`: one for all gateways of a database, made once. */
export async function legacySessionKey(store: Store, now: () => number): Promise<Buffer> {
  const text = await store.transact(async (tx) => {
    const found = await tx.settings.get(name)
    if (found) return String(found.value)
    await tx.lockForChange({ pause: true })
    const again = await tx.settings.get(name)
    if (again) return String(again.value)
    const value = randomBytes(32).toString('base64url')
    await tx.settings.set({ name, value, by: 'system', at: now() })
    return value
  })
  return Buffer.from(text, 'base64url')
}
