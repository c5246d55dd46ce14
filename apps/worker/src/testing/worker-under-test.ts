/** For tests: a worker in this process, on a socket and with certificates of its own. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import {
  type Certified,
  createAuthority,
  type Hello,
  issueCertificate,
  type VaultPublicKey,
} from '@sallyport/protocol/node'
import { jsonLines } from '../log.ts'
import { type HeldVaultKey, makeKey } from '../vault/key-text.ts'
import { Worker, type WorkerParts } from '../worker.ts'
import { MemorySource } from './memory-source.ts'
import { ScriptedGateway } from './scripted-gateway.ts'

export const authority = createAuthority({ commonName: 'tests', days: 1 })

export function identity(
  role: 'gateway' | 'worker' | 'operator',
  options: { readonly issuer?: Certified; readonly days?: number } = {},
): Certified {
  const { issuer = authority, days = 1 } = options
  return issueCertificate({ authority: issuer, role, commonName: role, days })
}

export const createVaultKey = (): HeldVaultKey => makeKey(Date.now())

export class WorkerUnderTest {
  readonly path: string
  readonly key: VaultPublicKey
  readonly worker: Worker
  readonly #folder: string
  readonly #gateways: ScriptedGateway[] = []
  #log = ''
  isAbandoned = false

  constructor(parts: Partial<WorkerParts> = {}) {
    this.#folder = mkdtempSync(join(tmpdir(), 'sallyport-worker-'))
    this.path = join(this.#folder, 'w.sock')
    const ring = parts.ring ?? new MemorySource(createVaultKey()).ring()
    this.key = ring.newest
    const stream = new PassThrough()
    stream.on('data', (chunk) => {
      this.#log += chunk
    })
    this.worker = new Worker({
      place: { path: this.path },
      ...identity('worker'),
      authorityPem: authority.certificatePem,
      ring,
      allowLocalUpstreams: true,
      reconnectWindowMs: 600_000,
      build: 'test',
      log: jsonLines(stream, Date.now),
      abandoned: () => {
        this.isAbandoned = true
      },
      ...parts,
    })
  }

  get log(): string {
    return this.#log
  }

  async start(): Promise<this> {
    await this.worker.start()
    return this
  }

  async gateway(
    options: { readonly identity?: Certified; readonly hello?: Partial<Hello> } = {},
  ): Promise<ScriptedGateway> {
    const gateway = await ScriptedGateway.connect({
      address: { path: this.path },
      identity: options.identity ?? identity('gateway'),
      authorityPem: authority.certificatePem,
      ...(options.hello ? { hello: options.hello } : {}),
    })
    this.#gateways.push(gateway)
    return gateway
  }

  async stop(): Promise<void> {
    for (const gateway of this.#gateways) gateway.cut()
    await this.worker.stop()
    rmSync(this.#folder, { recursive: true })
  }
}
