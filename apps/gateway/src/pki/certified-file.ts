/** A certificate and its key in one file, so that no crash can leave one without the other. */
import { createPrivateKey, type KeyObject, randomBytes, X509Certificate } from 'node:crypto'
import {
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { SallyportError } from '@sallyport/protocol'
import type { Certified } from '@sallyport/protocol/node'
import { flushFolder, writeDurably } from '../files/write-durably.ts'

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

interface Owner {
  readonly uid: number
  readonly gid: number
}

/** With an owner it is theirs before it takes its place: what they may not read never stands there. */
export function writeCertified(path: string, certified: Certified, owner?: Owner): CertifiedFile {
  const text = certified.certificatePem + certified.privateKeyPem
  if (owner) writeFor(owner, path, text)
  else writeDurably(path, text)
  return parseCertified(text)
}

/** By its descriptor: in a folder of theirs a path may have come to lead to a file of ours. */
function writeFor({ uid, gid }: Owner, path: string, text: string): void {
  const next = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const file = openSync(next, 'wx', 0o600)
    try {
      writeSync(file, text)
      fchownSync(file, uid, gid)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(next, path)
  } catch (cause) {
    rmSync(next, { force: true })
    throw cause
  }
  flushFolder(dirname(path))
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

/** Throws `bad_certificate` for what is no plain file that can be read. */
export function readIfThere(path: string): string | undefined {
  try {
    // Without waiting: the worker's folder is the worker's, and a pipe there would hold up everything.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      if (!fstatSync(file).isFile()) throw new Error('no plain file')
      return readFileSync(file, 'utf8')
    } finally {
      closeSync(file)
    }
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new SallyportError('bad_certificate', {
      cause: new Error(`unreadable: ${path}`, { cause: thrown }),
    })
  }
}
