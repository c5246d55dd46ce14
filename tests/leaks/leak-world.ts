/** A Sallyport in which every secret is known, guests that use all of them without having one, and a look at everything. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import {
  bubblewrap,
  type HarnessAdapter,
  type ModelProviderName,
  modelAccess,
  modelUpstream,
  type RunEnd,
  runGuest,
} from '@sallyport/launcher'
import type { Answer, RouteName } from '@sallyport/protocol'
import { routes } from '@sallyport/protocol'
import { type FakeModel, startFakeModel } from '../clients/fake-model.ts'
import { processTree } from '../clients/procscan.ts'
import { connectUpstream, grantTools, publishTools } from '../harness/setup-connection.ts'
import type { Sallyport } from '../harness/start-sallyport.ts'
import { keyFiles, vaultKeyFile } from '../keys/key-world.ts'
import { GatewayWorld } from '../oauth/gateway-world.ts'
import { portOf } from '../sandbox/api-port.ts'
import { shim } from '../sandbox/shim-place.ts'
import { text as said, startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'
import { type Leak, LeakScan, neighboursOf } from './leak-scan.ts'

type Created = Answer<'session.create'>

export interface LeakRun {
  readonly harness: HarnessAdapter
  readonly words: readonly string[]
  readonly provider: ModelProviderName
  readonly programPath?: string
  readonly stdin?: string
  /** More of the guest's environment. */
  readonly environment?: Readonly<Record<string, string>>
  /** Before its processes are looked at. */
  readonly whileHeld?: (held: HeldRun) => void | Promise<void>
}

export interface HeldRun {
  /** Of its first process, for the host. */
  readonly pid: number
  readonly workspace: string
  readonly secrets: Readonly<Record<string, string>>
}

export interface LeakReport {
  readonly end: RunEnd
  readonly output: string
  readonly scan: LeakScan
  /** Without what has to be where it is. */
  readonly leaks: readonly Leak[]
}

/** What has to be somewhere: the files that keep the administrator's token and the key that opens credentials. */
const isKept = ({ place, secret, holder }: Leak): boolean =>
  place === 'file' &&
  ((secret === 'control token' && holder.endsWith('/admin-token')) ||
    (secret === 'vault key' && holder.endsWith('/vault.key')))

/** Below the root of a guest: all but what is the host's own programs. */
const guestFolders = ['etc', 'home', 'opt/sallyport/shim.mjs', 'run', 'tmp', 'workspace', 'dev/shm']

export class LeakWorld {
  readonly oauth: GatewayWorld
  readonly model: FakeModel
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-leaks-')))
  readonly modelKey = `mk-${randomBytes(24).toString('hex')}`
  readonly #credential = `crd-${randomBytes(24).toString('hex')}`
  #upstream: Upstream | undefined
  #reach: () => void = () => undefined

  static async start(): Promise<LeakWorld> {
    const [oauth, model] = await Promise.all([
      GatewayWorld.start({}, { env: { SALLYPORT_LOG: 'trace' } }),
      startFakeModel(),
    ])
    const world = new LeakWorld(oauth, model)
    await world.#setUp()
    return world
  }

  private constructor(oauth: GatewayWorld, model: FakeModel) {
    this.oauth = oauth
    this.model = model
    mkdirSync(join(this.root, 'r'))
  }

  get sallyport(): Sallyport {
    return this.oauth.sallyport
  }

  /** Profile `leaks`: a server behind OAuth, and one behind a bearer that holds its call until it is let go. */
  async #setUp(): Promise<void> {
    const hold = {
      name: 'hold',
      description: 'Waits.',
      inputSchema: { type: 'object' },
      run: async () => {
        this.#reach()
        await this.#released
        return said('released')
      },
    }
    this.#upstream = await startUpstream({ bearer: this.#credential, tools: [hold] })
    const { url } = this.#upstream
    await connectUpstream(this.sallyport, { name: 'held', url, token: this.#credential })
    await this.oauth.add('signed')
    const { state } = await this.oauth.signIn('signed')
    if (state !== 'done') throw new Error('not signed in')
    const settings = { isolation: ['bubblewrap' as const] }
    for (const spec of [
      { name: 'held', url, read: ['hold'] },
      { name: 'signed', url, read: ['counter_read'] },
    ]) {
      await publishTools(this.sallyport, spec)
      await grantTools(this.sallyport, { ...spec, profile: 'leaks', settings })
    }
  }

  #released: Promise<void> = Promise.resolve()

  /** Resolves when a call is held; `release` lets it go. */
  hold(): { readonly reached: Promise<void>; release(): void } {
    let release = (): void => undefined
    this.#released = new Promise((resolve) => {
      release = resolve
    })
    const reached = new Promise<void>((resolve) => {
      this.#reach = resolve
    })
    return { reached, release }
  }

  /** What there is before any session. */
  known() {
    const [access = '', refresh = ''] = this.oauth.server.grants.issued.slice(-2)
    const pem = keyFiles(vaultKeyFile(this.sallyport))['vault.key'] ?? ''
    const [, vaultKey = ''] = /KEY-----\n([A-Za-z0-9+/=]+)\n/.exec(pem) ?? []
    return {
      'upstream credential': this.#credential,
      'access token': access,
      'refresh token': refresh,
      'vault key': vaultKey,
      'model key': this.modelKey,
      'control token': this.sallyport.adminToken,
    }
  }

  /** One guest, looked at while a call of it is held, and everything once more when it has ended. */
  async run(asked: LeakRun): Promise<LeakReport> {
    const { harness, words, provider, programPath, stdin, environment = {}, whileHeld } = asked
    const workspace = mkdtempSync(join(this.root, 'workspace-'))
    const url = provider === 'openai' ? `${this.model.url}/v1` : this.model.url
    const upstream = modelUpstream(provider, url)
    const prepared = await harness.prepare({
      ...{ words, isolation: 'bubblewrap', environment: { ...process.env }, shim, workspace },
      model: modelAccess(upstream),
      ...(programPath === undefined ? {} : { programPath }),
    })
    const before = this.model.requests.length
    const { reached, release } = this.hold()
    let scan: LeakScan | undefined
    let output = Promise.resolve('')
    let looked = Promise.resolve()
    let created: Created | undefined
    const end = await runGuest({
      sandbox: bubblewrap(),
      port: portOf(this.sallyport.api),
      session: { profile: 'leaks', harness: harness.name },
      prepared: { ...prepared, environment: { ...prepared.environment, ...environment } },
      reach: { model: { upstream, key: this.modelKey }, hosts: [] },
      ...{
        shim,
        workspace,
        dataFolder: this.sallyport.dataDir,
        runtimeFolder: join(this.root, 'r'),
      },
      stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      stop: AbortSignal.timeout(110_000),
      told: (event) => {
        if (event.kind === 'created') created = event.session
        if (event.kind !== 'released' || !created) return
        event.guest.stdin?.end(stdin)
        const { pid } = event.guest.process
        const secrets = {
          ...this.known(),
          'session token': created.token,
          'owner key': created.ownerKey ?? '',
        }
        const found = new LeakScan(secrets)
        scan = found
        const { stdout, stderr } = event.guest
        output = Promise.all([stdout, stderr].map((one) => (one ? text(one) : ''))).then((all) =>
          all.join('\n'),
        )
        looked = reached
          .then(() => whileHeld?.({ pid, workspace, secrets }))
          .then(() => this.#lookAtGuest(found, pid))
          .finally(release)
        // Awaited below; a guest that never calls ends the run by itself.
        looked.catch(() => undefined)
      },
    })
    if (!scan || !created) throw new Error('the guest was never released')
    await Promise.race([looked, this.#neverReached(reached, end, output)])
    scan.look('output', harness.name, await output)
    await this.#lookOutside(scan, end.session)
    for (const { body } of this.model.requests.slice(before))
      scan.look('model transcript', harness.name, JSON.stringify(body))
    return { end, output: await output, scan, leaks: scan.leaks().filter((one) => !isKept(one)) }
  }

  /** Rejects when the guest has ended without a held call. */
  async #neverReached(
    reached: Promise<void>,
    end: RunEnd,
    output: Promise<string>,
  ): Promise<never> {
    const isReached = await Promise.race([reached.then(() => true), Promise.resolve(false)])
    if (isReached) return new Promise(() => undefined)
    throw new Error(`no call came: ${JSON.stringify(end)}\n${await output}`)
  }

  async #lookAtGuest(scan: LeakScan, first: number): Promise<void> {
    scan.lookAtFolder('file', join(this.root, 'r'), true)
    for (const pid of neighboursOf(first)) await scan.lookAtGuest(pid)
    for (const name of guestFolders) {
      const path = `/proc/${first}/root/${name}`
      if (name.endsWith('.mjs')) scan.look('guest file', name, readFileSync(path))
      else scan.lookAtFolder('guest file', path)
    }
  }

  async #lookOutside(scan: LeakScan, session: string): Promise<void> {
    const { pid, dataDir, url } = this.sallyport
    for (const root of [pid, this.sallyport.workerPid() as number])
      for (const one of processTree(root)) scan.lookAtProcess(one, '')
    scan.lookAtFolder('file', dataDir, true)
    scan.lookAtDatabase(join(dataDir, 'sallyport.db'))
    scan.look('log', 'gateway', this.sallyport.output())
    scan.look('log', 'worker', readFileSync(join(dataDir, 'gateway', 'worker.log')))
    const authorization = `Bearer ${this.sallyport.adminToken}`
    for (const path of pathsToAsk(session)) {
      const answer = await fetch(`${url}${path}`, { headers: { authorization } })
      scan.look(
        'API answer',
        path,
        `${JSON.stringify([...answer.headers])}\n${await answer.text()}`,
      )
    }
  }

  async end(): Promise<void> {
    await this.oauth.stop()
    await this.#upstream?.close()
    await this.model.close()
    rmSync(this.root, { recursive: true, force: true })
  }
}

/** Everything that can be asked without saying what of: and all of one session. */
function pathsToAsk(session: string): string[] {
  const all = Object.keys(routes).map((name) => routes[name as RouteName])
  const plain = all.filter(({ method, path }) => method === 'GET' && !path.includes('{'))
  const own = all.filter(
    ({ method, path }) => method === 'GET' && path.startsWith('/sessions/{id}'),
  )
  return [
    '/metrics',
    '/readyz',
    ...plain.map(({ path }) => `/api/v1${path}`),
    ...own.map(({ path }) => `/api/v1${path.replace('{id}', session)}`),
  ]
}
