/** For tests: a worker, a gateway and one connection to an upstream, ready to call. */
import type { Listing } from '@sallyport/protocol/node'
import type { WorkerParts } from '../worker.ts'
import {
  type Answer,
  type ConnectionOptions,
  type OrderOptions,
  type ScriptedGateway,
  type SealedConnection,
  sealForTest,
} from './scripted-gateway.ts'
import { WorkerUnderTest } from './worker-under-test.ts'

export class Bench {
  readonly worker: WorkerUnderTest
  readonly gateway: ScriptedGateway
  readonly connection: SealedConnection
  readonly #digests = new Map<string, string>()

  private constructor(
    worker: WorkerUnderTest,
    gateway: ScriptedGateway,
    connection: SealedConnection,
  ) {
    this.worker = worker
    this.gateway = gateway
    this.connection = connection
  }

  static async start(
    options: Omit<ConnectionOptions, 'key'>,
    parts: Partial<WorkerParts> = {},
  ): Promise<Bench> {
    const worker = await new WorkerUnderTest(parts).start()
    const connection = sealForTest({ ...options, key: worker.key })
    return new Bench(worker, await worker.gateway(), connection)
  }

  /** Lists the tools as a review does, and remembers their digests for the calls that follow. */
  async review(connection = this.connection): Promise<Listing> {
    const { raw, head } = await this.gateway.order({ connection })
    if (head.verdict !== 'result') throw new Error(`not listed: ${head.code}`)
    const listing = JSON.parse(raw.toString()) as Listing
    for (const { name, digest } of listing.tools) this.#digests.set(name, digest)
    return listing
  }

  digestOf(tool: string): string {
    return this.#digests.get(tool) ?? `sha256:${'0'.repeat(64)}`
  }

  order(tool: string, args: unknown = {}, claims: OrderOptions['claims'] = {}): OrderOptions {
    const { connection } = this
    return { connection, tool, toolDigest: this.digestOf(tool), arguments: args, claims }
  }

  call(tool: string, args: unknown = {}, claims: OrderOptions['claims'] = {}): Promise<Answer> {
    return this.gateway.order(this.order(tool, args, claims))
  }

  stop(): Promise<void> {
    return this.worker.stop()
  }
}
