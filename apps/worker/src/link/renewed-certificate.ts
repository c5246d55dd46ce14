/** Notices that this worker's certificate was renewed on disk, which its gateway does long before the end of the old one. */
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'

export interface OwnCertificate {
  readonly certificatePem: string
  readonly privateKeyPem: string
}

export interface RenewedCertificateOptions {
  /** What is in use. */
  readonly used: OwnCertificate
  readonly read: () => OwnCertificate
  /** Uses it from the next connection on; throws when it is none that can be used. */
  readonly use: (own: OwnCertificate) => void
  readonly clock: Pick<Clock, 'after'>
  readonly log: Log
}

const lookEveryMs = 600_000

/** Looks until it is called off. What cannot be read or used is told once, and what is in use stays. */
export function watchCertificate(options: RenewedCertificateOptions): () => void {
  const { read, use, clock, log } = options
  let { certificatePem: seen } = options.used
  let told = ''
  const look = (): void => {
    try {
      const own = read()
      if (own.certificatePem !== seen) {
        use(own)
        seen = own.certificatePem
        log.write('certificate_renewed')
      }
      told = ''
    } catch (thrown) {
      const because = String(thrown)
      if (because !== told) log.write('certificate_unusable', { because })
      told = because
    }
    cancel = clock.after(lookEveryMs, look)
  }
  let cancel = clock.after(lookEveryMs, look)
  return () => cancel()
}
