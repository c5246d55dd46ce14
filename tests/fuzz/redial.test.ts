/** A link whose worker ends its connections in every way, at every moment: it dials again, once, and works with the next. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { encodeFrame, FrameReader, type RecoverHead } from '@sallyport/protocol/node'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../apps/gateway/src/worker/clock.ts'
import { WorkerLink } from '../../apps/gateway/src/worker/link.ts'
import { helloOf, identityOf } from '../../apps/gateway/src/worker/scripted-worker.ts'
import { eventually } from '../system/eventually.ts'
import { type Random, randomFrom } from '../system/random.ts'
import { seedsFor } from './corpus.ts'

const hello = (changed = {}) => encodeFrame('hello', helloOf(changed))
const pong = encodeFrame('pong', { n: 1 })

/** Before TLS, and behind it: how a connection ends, or is not one. */
const raw: readonly ((socket: Socket) => void)[] = [
  (socket) => socket.destroy(),
  (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
  (socket) => socket.end(),
]
const secured: readonly ((socket: TLSSocket) => void)[] = [
  (socket) => socket.destroy(),
  (socket) => socket.end(),
  (socket) => setImmediate(() => socket.destroy()),
  (socket) => socket.end(hello().subarray(0, 20)),
  (socket) => socket.end('no frame at all'),
  (socket) => socket.end(pong),
  (socket) => socket.end(encodeFrame('hello', null)),
  (socket) => socket.end(hello({ release: 'another' })),
  (socket) => socket.end(hello({ now: 0 })),
  (socket) => socket.end(hello()),
  (socket) => socket.end(Buffer.concat([hello(), pong, pong])),
  (socket) => socket.end(Buffer.concat([hello(), Buffer.alloc(64, 255)])),
  (socket) => socket.write(hello(), () => socket.destroy()),
  (socket) => socket.write(Buffer.concat([hello(), encodeFrame('progress', null)])),
]

/** Ends as many connections as it was told to; then it is a worker. */
class Faithless {
  readonly path: string
  open = 0
  endings: readonly number[] = []
  seen = 0
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  constructor(folder: string) {
    this.path = join(folder, 'w.sock')
    const { certificatePem: cert, privateKeyPem: key, authorityPem: ca } = identityOf('worker')
    const tls = createTlsServer({ cert, key, ca, requestCert: true }, (socket) =>
      this.#talk(socket),
    )
    tls.on('tlsClientError', () => {})
    this.#server = createServer((socket) => {
      this.open++
      this.#sockets.add(socket)
      socket
        .on('error', () => {})
        .once('close', () => {
          this.open--
          this.#sockets.delete(socket)
        })
      const early = raw[this.endings[this.seen] ?? -1]
      if (!early) {
        tls.emit('connection', socket)
        return
      }
      this.seen++
      socket.resume()
      early(socket)
    })
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(this.path, resolve))
    return this
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async stop(): Promise<void> {
    this.cut()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #talk(socket: TLSSocket): void {
    socket.on('error', () => {})
    const ending = this.endings[this.seen++]
    const end = ending === undefined ? undefined : secured[ending - raw.length]
    if (end) {
      socket.resume()
      end(socket)
      return
    }
    socket.write(hello({ instance: 'the-good-one' }))
    const reader = new FrameReader()
    socket.on('data', (chunk: Buffer) => {
      for (const { kind, head } of reader.push(chunk))
        if (kind === 'recover')
          for (const { id: intent } of (head as RecoverHead).intents)
            socket.write(encodeFrame('recovered', { intent, instance: 'i', state: 'not_known' }))
    })
  }
}

let folder: string
let worker: Faithless
let link: WorkerLink
const heard: string[] = []
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-redial-'))
  worker = await new Faithless(folder).start()
  link = new WorkerLink({
    address: { path: worker.path },
    identity: () => identityOf('gateway'),
    // Only who dials again is hurried.
    clock: {
      ...systemClock,
      after: (ms, run) => systemClock.after(ms <= 1_000 ? ms / 50 : ms, run),
    },
    hello: () => helloOf({ role: 'gateway', instance: 'ins_gateway' }),
    log: { info: () => {}, warn: () => {}, error: () => {} },
  })
  link.start({
    result: () => {},
    progress: () => {},
    observed: () => {},
    lost: () => {},
    up: (instance) => void heard.push(instance),
  })
})
afterEach(async () => {
  await link.stop()
  await worker.stop()
  rmSync(folder, { recursive: true })
})

const endingsOf = (random: Random): number[] =>
  Array.from({ length: 1 + random.below(4) }, () => random.below(raw.length + secured.length))

/** Whatever this one is asked it answers: it is no connection that has ended. */
async function answers(): Promise<boolean> {
  if (link.instance() !== 'the-good-one') return false
  return await link.recover([{ id: 'int_1', iat: 1, aud: 'i' }]).then(
    ([found]) => found?.head.state === 'not_known',
    () => false,
  )
}

test('however its connections end, it dials again until one holds, and has one at a time', {
  timeout: 600_000,
}, async () => {
  // Each ending alone, too.
  const alone = Array.from({ length: raw.length + secured.length }, (_, ending) => [ending])
  const seeds = seedsFor('redial', 40, 1_000)
  const rows = [...alone, ...seeds.map((seed) => endingsOf(randomFrom(seed)))]
  for (const [at, endings] of rows.entries()) {
    worker.endings = endings
    worker.seen = 0
    worker.cut()
    const said = `seed ${seeds[at - alone.length] ?? 'none'}: ${endings.join(' ')}`
    await eventually(answers, (isSo) => isSo && worker.seen > endings.length, 30_000).catch(
      (cause: unknown) => {
        throw new Error(`${said}: ${JSON.stringify(link.state())}`, { cause })
      },
    )
    await eventually(
      () => worker.open,
      (open) => open === 1,
      5_000,
    )
  }
  expect(heard.filter((instance) => instance === 'the-good-one').length).toBeGreaterThanOrEqual(
    rows.length,
  )
})
