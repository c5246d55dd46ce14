import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SallyportError } from '@sallyport/protocol'
import { type JournalSigner, journalJwk, journalKid } from '@sallyport/protocol/node'
import { writeDurably } from '../files/write-durably.ts'

/**
 * The key of this data folder that signs checkpoints, made at first start: Ed25519, PKCS #8. Not that of the gateway's
 * certificate, which is replaced from time to time. Throws `bad_certificate` for a damaged file (its cause names it).
 */
export function prepareJournalKey(dataDir: string): JournalSigner {
  const path = join(dataDir, 'gateway', 'journal.key')
  if (!existsSync(path)) {
    const { privateKey } = generateKeyPairSync('ed25519')
    writeDurably(path, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
  }
  try {
    return signerOf(createPrivateKey(readFileSync(path)))
  } catch (cause) {
    throw new SallyportError('bad_certificate', {
      cause: new Error(`unusable: ${path}`, { cause }),
    })
  }
}

function signerOf(privateKey: KeyObject): JournalSigner {
  const jwk = journalJwk.parse(createPublicKey(privateKey).export({ format: 'jwk' }))
  return { kid: journalKid(jwk), jwk, privateKey }
}
