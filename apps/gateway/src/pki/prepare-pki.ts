/**
 * The authority of one data folder and the two leaves it issues. The worker's folder never holds a key of the gateway
 * or of the authority: whoever takes the worker over cannot sign an intent.
 */
import { lstatSync, mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { SallyportError } from '@sallyport/protocol'
import { type CertificateRole, createAuthority, issueCertificate } from '@sallyport/protocol/node'
import { writeDurably } from '../files/write-durably.ts'
import { type CertifiedFile, readCertified, readIfThere, writeCertified } from './certified-file.ts'

export interface Pki {
  /** Certificate of the authority, PEM. */
  readonly authorityPem: string
  readonly gateway: CertifiedFile
  /** What the worker's command line names. */
  readonly workerFiles: { readonly cert: string; readonly key: string; readonly ca: string }
  /** Milliseconds since 1970. */
  readonly expiresAt: Readonly<Record<'authority' | 'gateway' | 'worker', number>>
}

const day = 86_400_000
const leafDays = 90
const leafRenewDays = 30
const authorityDays = 3650
/** An authority is replaced while every leaf it can still issue ends before it. */
const authorityRenewDays = 2 * leafDays

/**
 * Reads the certificates below `dataDir`, makes those that are missing or near their end. Throws `bad_certificate`
 * for a damaged file (its cause names it) and `data_not_writable`.
 */
export function preparePki(dataDir: string, now: number = Date.now()): Pki {
  const places = placesIn(dataDir)
  return writing(() => {
    for (const folder of places.folders) mkdirSync(folder, { recursive: true, mode: 0o700 })
    const authority = prepareAuthority(places.authority, now)
    const pki = prepareLeaves(places, authority, now)
    copyAuthority(authority.certificatePem, places.authorityCopy)
    return pki
  })
}

/**
 * The same while gateway and worker run: makes the leaves that are near their end, which each side shows from its next
 * connection on. The authority stays: who runs would not believe another. Throws as `preparePki` does.
 */
export function renewLeaves(dataDir: string, now: number = Date.now()): Pki {
  const places = placesIn(dataDir)
  const authority = readCertified(places.authority)
  if (!authority)
    throw new SallyportError('bad_certificate', { cause: new Error(`gone: ${places.authority}`) })
  return writing(() => prepareLeaves(places, authority, now))
}

function placesIn(dataDir: string) {
  const gateway = resolve(dataDir, 'gateway')
  const worker = resolve(dataDir, 'worker')
  return {
    folders: [gateway, worker],
    authority: resolve(gateway, 'authority.pem'),
    gateway: resolve(gateway, 'gateway.pem'),
    worker: resolve(worker, 'worker.pem'),
    authorityCopy: resolve(worker, 'authority.pem'),
  }
}

function writing(write: () => Pki): Pki {
  try {
    return write()
  } catch (cause) {
    if (cause instanceof SallyportError) throw cause
    throw new SallyportError('data_not_writable', { cause })
  }
}

function prepareLeaves(
  places: ReturnType<typeof placesIn>,
  authority: CertifiedFile,
  now: number,
): Pki {
  const gateway = prepareLeaf(places.gateway, 'gateway', authority, now)
  const worker = prepareLeaf(places.worker, 'worker', authority, now)
  return {
    authorityPem: authority.certificatePem,
    gateway,
    workerFiles: { cert: places.worker, key: places.worker, ca: places.authorityCopy },
    expiresAt: { authority: end(authority), gateway: end(gateway), worker: end(worker) },
  }
}

function prepareAuthority(path: string, now: number): CertifiedFile {
  const found = readCertified(path)
  if (found && isGood(found, now, authorityRenewDays)) return found
  const made = createAuthority({ commonName: 'Sallyport authority', days: authorityDays, now })
  return writeCertified(path, made)
}

function prepareLeaf(
  path: string,
  role: CertificateRole,
  authority: CertifiedFile,
  now: number,
): CertifiedFile {
  const found = readCertified(path)
  const issuedHere = found?.certificate.verify(authority.certificate.publicKey)
  if (found && issuedHere && isGood(found, now, leafRenewDays)) return found
  // The worker may be somebody else, who was given the file that this one takes the place of.
  const before = lstatSync(path, { throwIfNoEntry: false })
  const owner = before && before.uid !== process.geteuid?.() ? before : undefined
  const commonName = `Sallyport ${role}`
  const leaf = issueCertificate({ authority, role, commonName, days: leafDays, now })
  return writeCertified(path, leaf, owner)
}

function copyAuthority(certificatePem: string, path: string): void {
  if (readIfThere(path) !== certificatePem) writeDurably(path, certificatePem)
}

/** Also false before its time: the clock was wrong when it was made. */
function isGood(file: CertifiedFile, now: number, renewDays: number): boolean {
  return Date.parse(file.certificate.validFrom) <= now && now + renewDays * day < end(file)
}

const end = (file: CertifiedFile): number => Date.parse(file.certificate.validTo)
