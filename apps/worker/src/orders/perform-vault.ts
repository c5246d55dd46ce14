/** Does what an order says about the keys of the vault. Nothing of it leaves this machine. */
import {
  digestBytes,
  type KeysIntent,
  type ResealIntent,
  type RetireIntent,
} from '@sallyport/protocol/node'
import type { KeyRing } from '../vault/key-ring.ts'
import type { Vault } from '../vault/vault.ts'
import { notSent, type Outcome } from './outcome.ts'
import type { Performance } from './perform.ts'

export type VaultIntent = ResealIntent | KeysIntent | RetireIntent

/** Rejects as `KeyRing` and `Vault` do. */
export async function performVault(
  intent: VaultIntent,
  { luggage, pass }: Pick<Performance, 'luggage' | 'pass'>,
  { ring, vault }: { readonly ring: KeyRing; readonly vault: Vault },
): Promise<Outcome> {
  if (intent.act === 'reseal') {
    const { kind, rowId: id, scope, version, toKid } = intent
    const raw = vault.reseal(luggage.raw.toString(), { kind, id, scope, version }, toKid)
    return answer(raw, pass())
  }
  const code = pass()
  return code ? notSent(code) : answer(JSON.stringify(await tend(intent, ring)), undefined)
}

function tend(intent: KeysIntent | RetireIntent, ring: KeyRing) {
  switch (intent.act) {
    case 'keys':
      return ring.read()
    case 'rotate':
      return ring.rotate()
    case 'retire':
      return ring.retire(intent.kid)
  }
}

function answer(text: string, code: ReturnType<Performance['pass']>): Outcome {
  if (code) return notSent(code)
  const raw = Buffer.from(text)
  return { head: { verdict: 'result', digest: digestBytes(raw), bytes: raw.length }, raw }
}
