/** For tests: a server certificate that is its own authority. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface ServerCertificate {
  readonly key: string
  readonly cert: string
}

/** `names` as OpenSSL writes them: `DNS:mcp.test,IP:127.0.0.1`. `days` may be negative. */
export function serverCertificate(names: string, days = 30): ServerCertificate {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-tls-'))
  try {
    const openssl = (...args: string[]) =>
      execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' })
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
    const files = ['-keyout', 'k.pem', '-out', 'new.pem']
    openssl(
      'req',
      '-x509',
      ...curve,
      ...files,
      '-subj',
      '/CN=t',
      '-addext',
      `subjectAltName=${names}`,
    )
    // Only this command takes a time that is over.
    openssl('x509', '-in', 'new.pem', '-signkey', 'k.pem', '-days', String(days), '-out', 'c.pem')
    const read = (name: string) => readFileSync(join(folder, name), 'utf8')
    return { key: read('k.pem'), cert: read('c.pem') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
