/** A certificate and its key in one file, so that no crash can leave one without the other. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { SallyportError } from '@sallyport/protocol'
import type { Certified } from '@sallyport/protocol/node'
import { writeDurably } from '../files/write-durably.ts'

export interface CertifiedFile extends Certified {
  readonly certificate: X509Certificate
  readonly privateKey: KeyObject
}

/** Undefined when there is no file. Throws `bad_certificate` for damage and for a key of another certificate. */
export function readCertified(path: string): CertifiedFile | undefined {
  const text = readIfThere(path)
  if (text === undefined) return undefined
  try {
    return parseCertified(text)
  } catch (cause) {
    throw new SallyportError('bad_certificate', {
      cause: new Error(`unusable: ${path}`, { cause }),
    })
  }
}

export function writeCertified(path: string, certified: Certified): CertifiedFile {
  const text = certified.certificatePem + certified.privateKeyPem
  writeDurably(path, text)
  return parseCertified(text)
}

function parseCertified(text: string): CertifiedFile {
  const certificate = new X509Certificate(text)
  const privateKey = createPrivateKey(text)
  if (!certificate.checkPrivateKey(privateKey)) throw new Error('the key is of another certificate')
  return {
    certificate,
    privateKey,
    certificatePem: certificate.toString(),
    privateKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new SallyportError('bad_certificate', {
      cause: new Error(`unreadable: ${path}`, { cause: thrown }),
    })
  }
}
