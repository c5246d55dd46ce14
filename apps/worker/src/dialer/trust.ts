/** Whose certificates are believed. Checking them is never turned off: an authority can only be added. */
import { X509Certificate } from 'node:crypto'
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'
import { SallyportError } from '@sallyport/protocol'

export class Trust {
  readonly #context: SecureContext

  /** `authorities`: PEM, of the operator, beside the ones Node comes with. Throws `bad_certificate` for one that is none. */
  constructor(authorities: readonly string[] = []) {
    for (const pem of authorities) checkAuthorities(pem)
    this.#context = createSecureContext({
      minVersion: 'TLSv1.2',
      ...(authorities.length > 0 ? { ca: [...getCACertificates('default'), ...authorities] } : {}),
    })
  }

  /** One context for every destination, until a connection can bring authorities of its own. */
  contextFor(_destination: { readonly subject?: string | undefined }): SecureContext {
    return this.#context
  }
}

/**
 * Throws `bad_certificate`. OpenSSL takes a text without any certificate for an empty list, and then nothing of the operator's
 * is believed.
 */
export function checkAuthorities(pem: string): void {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  try {
    for (const block of blocks) new X509Certificate(block)
  } catch (cause) {
    throw new SallyportError('bad_certificate', { cause })
  }
  if (blocks.length === 0) throw new SallyportError('bad_certificate')
}
