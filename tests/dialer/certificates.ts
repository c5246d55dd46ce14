/** Certificates of every kind, made with OpenSSL: an authority, and what it or somebody else signed. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Certificate {
  readonly key: string
  readonly cert: string
}

export interface Wanted {
  /** As OpenSSL writes them; left out: `DNS:mcp.dev`. Empty: none. */
  readonly names?: string
  readonly commonName?: string
  /** Days from now; left out: yesterday to tomorrow. */
  readonly from?: number
  readonly to?: number
  readonly usage?: string
  readonly isAuthority?: boolean
  /** Left out: a key on P-256. */
  readonly rsaBits?: number
  readonly digest?: string
}

const config = `
[ca]
default_ca = ours
[ours]
database = index.txt
new_certs_dir = .
rand_serial = yes
policy = any
email_in_dn = no
unique_subject = no
copy_extensions = none
[any]
commonName = supplied
`

export class Certificates {
  readonly #folder = mkdtempSync(join(tmpdir(), 'sallyport-certificates-'))
  #count = 0

  constructor() {
    writeFileSync(join(this.#folder, 'ca.cnf'), config)
    writeFileSync(join(this.#folder, 'index.txt'), '')
  }

  /** Signs itself. */
  authority(commonName: string): Certificate {
    const name = this.#request({ commonName })
    const extensions = this.#extensions({ isAuthority: true, names: '' })
    this.#openssl(
      `x509 -req -in ${name}.csr -signkey ${name}.key -days 2 -extfile ${extensions} -out ${name}.pem`,
    )
    return this.#read(name)
  }

  issue(issuer: Certificate, wanted: Wanted = {}): Certificate {
    const name = this.#request(wanted)
    writeFileSync(join(this.#folder, 'issuer.pem'), issuer.cert)
    writeFileSync(join(this.#folder, 'issuer.key'), issuer.key)
    const { from = -1, to = 1, digest = 'sha256' } = wanted
    const dates = `-startdate ${dateIn(from)} -enddate ${dateIn(to)}`
    const by = '-config ca.cnf -cert issuer.pem -keyfile issuer.key'
    const extensions = `-extfile ${this.#extensions(wanted)}`
    this.#openssl(
      `ca -batch -notext ${by} -md ${digest} ${dates} ${extensions} -in ${name}.csr -out ${name}.pem`,
    )
    return this.#read(name)
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true })
  }

  #request({ commonName = 'mcp', rsaBits }: Wanted): string {
    const name = `c${++this.#count}`
    const kind = rsaBits === undefined ? 'ec -pkeyopt ec_paramgen_curve:P-256' : `rsa:${rsaBits}`
    this.#openssl(
      `req -new -newkey ${kind} -nodes -keyout ${name}.key -out ${name}.csr -subj /CN=${commonName}`,
    )
    return name
  }

  #extensions({ names = 'DNS:mcp.dev', usage, isAuthority = false }: Wanted): string {
    const lines = [
      `basicConstraints = critical,CA:${isAuthority ? 'TRUE' : 'FALSE'}`,
      ...(names === '' ? [] : [`subjectAltName = ${names}`]),
      ...(usage === undefined ? [] : [`extendedKeyUsage = ${usage}`]),
    ]
    writeFileSync(join(this.#folder, 'extensions.cnf'), `${lines.join('\n')}\n`)
    return 'extensions.cnf'
  }

  #openssl(words: string): void {
    execFileSync('openssl', words.split(' '), { cwd: this.#folder, stdio: 'pipe' })
  }

  #read(name: string): Certificate {
    const read = (kind: string) => readFileSync(join(this.#folder, `${name}.${kind}`), 'utf8')
    return { key: read('key'), cert: read('pem') }
  }
}

/** `YYYYMMDDHHMMSSZ`. */
function dateIn(days: number): string {
  const text = new Date(Date.now() + days * 86_400_000).toISOString()
  return `${text.replace(/\D/g, '').slice(0, 14)}Z`
}
