/** The composition root: everything is made here, in the order in which it may fail, and ended in the reverse order. */
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { access, constants } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  createToolsets,
  denyOwnListeners,
  type EndedGrant,
  SchemaCache,
  type Session,
  type Settings,
  type Store,
  type Toolsets,
} from '@sallyport/core'
import { type InstanceId, idSource, release, SallyportError } from '@sallyport/protocol'
import { adminTokenFile, endpointFile } from '@sallyport/protocol/node'
import type { ApiDeps } from '../api/api-deps.ts'
import { createControlApi } from '../api/control-api.ts'
import { coreDumps } from '../core-dumps.ts'
import { DeniedOAuth } from '../deny/denied-oauth.ts'
import { DenyDesk } from '../deny/deny-desk.ts'
import { ownPlaces } from '../deny/own-places.ts'
import { writeDurably } from '../files/write-durably.ts'
import { ownHosts } from '../http/allowed-hosts.ts'
import { createGuestEndpoint, type GuestEndpoint } from '../mcp/guest-endpoint.ts'
import type { GuestLimits } from '../mcp/session-traffic.ts'
import { createMetrics, type Metrics } from '../metrics.ts'
import { randomSupply } from '../random-supply.ts'
import { admitPeers } from '../relay/admit-peer.ts'
import { GuestWays } from '../relay/guest-ways.ts'
import { Courier } from '../webhooks/courier.ts'
import { toSend } from '../webhooks/to-send.ts'
import type { Log } from '../worker/log.ts'
import { build } from './build.ts'
import { startChores } from './chores.ts'
import { type Doors, destinationsBeside, openDoors } from './doors.ts'
import { type Foundations, layFoundations } from './foundations.ts'
import { type OpenJournal, openJournal } from './open-journal.ts'
import type { UpOptions } from './options.ts'
import { ToolWatch } from './tool-watch.ts'
import { Undo } from './undo.ts'
import { createWorkerSide, type WorkerSide } from './worker-side.ts'

export interface RunningGateway {
  readonly url: string
  readonly guestUrl: string
  readonly adminTokenFile: string
  /** Finishes or records what is in flight, ends the worker, closes everything. */
  stop(): Promise<void>
}

/** What every part below is made from. */
interface Parts {
  readonly options: UpOptions
  readonly log: Log
  readonly ids: ReturnType<typeof idSource>
  readonly instance: InstanceId
  readonly startedAt: number
  readonly foundations: Foundations
  readonly journal: OpenJournal['journal']
  readonly checkpoints: OpenJournal['checkpoints']
  readonly doors: Doors
  readonly metrics: Metrics
  readonly toolsets: Toolsets
  readonly workerSide: WorkerSide
  readonly denySets: DenyDesk
  readonly listening: (session: Session, open: () => void) => Promise<void>
}

const random = (size: number): Buffer => randomBytes(size)
const drainMs = 8_000
const closeMs = 2_000
/** For outcomes to be recorded; what is not is found again at the next start. */
const recordMs = 10_000
/** Guests wait for their answers until the worker has ended: what became of a call is told, also when nobody can know. */
const answerMs = 20_000

/** Rejects with a SallyportError that says what is wrong; then nothing of it is left running. */
export async function startGateway(
  options: UpOptions,
  log: Log,
  onFatal: (error: unknown) => void,
): Promise<RunningGateway> {
  const undo = new Undo()
  try {
    return await compose(options, log, onFatal, undo)
  } catch (thrown) {
    await undo.run()
    throw thrown
  }
}

async function compose(
  options: UpOptions,
  log: Log,
  onFatal: (error: unknown) => void,
  undo: Undo,
): Promise<RunningGateway> {
  const ids = idSource(Date.now, randomSupply(random))
  const instance = ids('instance')
  const startedAt = Date.now()
  const foundations = await layFoundations(options, { ids, onFatal, undo })
  const { store, settings, journalSigner: signer } = foundations
  const { isRestored } = options
  const ended = (grants: readonly EndedGrant[]): void => workerSide.revoker.revoke(grants)
  const opened = { store, ids, instance, signer, log, isRestored, ended }
  const { journal, checkpoints } = await openJournal(opened)
  const doors = await openDoors(options, undo)
  const metrics = createMetrics()
  const toolsets = createToolsets(store, new SchemaCache(), Date.now)
  const observed = (): void => watch.look()
  const side = {
    foundations,
    journal,
    checkpoints,
    toolsets,
    doors,
    ids,
    instance,
    metrics,
    log,
    observed,
  }
  const workerSide = createWorkerSide(options, side)
  const listening: Parts['listening'] = (session, open) => watch.begin(session, open)
  const denySets = createDenySets(store, journal, workerSide)
  const parts = { ...side, options, startedAt, workerSide, denySets, listening }
  const endpoint = createEndpoint(parts)
  const watch = new ToolWatch(store, toolsets, endpoint)
  const guestWays = createGuestWays(parts, endpoint)
  const handleControl = createControlApi(apiDeps(parts, guestWays, endpoint))

  await workerSide.start(undo)
  const { path, admin, keys, refresher, certificates } = workerSide
  const courier = new Courier({
    store,
    send: (webhook, delivery) => admin.sendWebhook(toSend(webhook, delivery)),
    log,
  })
  const running = { ...side, store, path, keys, refresher, courier, settings, watch, guestWays }
  const chores = await startChores({ ...running, certificates, denySets, endpoint, startedAt })
  await denyOwnListeners(store, { source: instance, entries: ownPlacesOf(doors, options) })
  await denySets.round()
  undo.push(() => chores.stop())
  undo.push(() => guestWays.close())
  await guestWays.restore()
  serve(parts, { endpoint, guestWays, watch, handleControl })
  const url = options.publicUrl ?? doors.control.url
  const place = { url: doors.control.url, guestUrl: doors.guest.url, pid: process.pid }
  writeDurably(endpointFile(options.dataDir), `${JSON.stringify(place)}\n`)
  undo.push(() => rmSync(endpointFile(options.dataDir), { force: true }))
  return {
    url,
    guestUrl: doors.guest.url,
    adminTokenFile: adminTokenFile(options.dataDir),
    stop: () => stop(parts, endpoint, chores, undo),
  }
}

function serve(
  { doors, metrics, log }: Parts,
  made: {
    readonly endpoint: GuestEndpoint
    readonly guestWays: GuestWays
    readonly watch: ToolWatch
    readonly handleControl: RequestListener
  },
): void {
  const { endpoint, guestWays, watch, handleControl } = made
  // Whatever a change of authority took away, open streams are told of at once; and what is of ended sessions goes.
  const changed = (): void => {
    watch.look()
    guestWays.look().catch((error: unknown) => report(log, error, 'guest ways'))
  }
  doors.serve(
    (req, res) => {
      handleControl(req, res)
      if (req.method !== 'GET') res.once('finish', changed)
    },
    (req, res) => {
      endpoint.handle(req, res)
      res.once('close', () => metrics.guestRequest(res.statusCode))
    },
  )
}

async function stop(
  { log, workerSide, doors, foundations, checkpoints, instance }: Parts,
  endpoint: GuestEndpoint,
  chores: { stop(): Promise<void> },
  undo: Undo,
): Promise<void> {
  const { path, supervisor } = workerSide
  log.info({ inFlight: path.desk.inFlight }, 'stopping')
  const answered = endpoint.close()
  await Promise.all([path.desk.drain(drainMs), doors.control.close(closeMs)])
  await chores.stop()
  // What is still in flight is answered by the worker as it ends, or becomes uncertain because it has ended.
  await supervisor.stop()
  await path.recovery.round()
  await answered
  await doors.guest.close(closeMs)
  await path.group.drained(recordMs)
  await checkpoints.write().catch((error: unknown) => {
    log.error({ error: String(error) }, 'no last checkpoint: the next start writes it')
  })
  await foundations.store.transact((tx) => tx.instances.end(instance))
  await undo.run()
  log.info({}, 'stopped')
}

function createEndpoint({
  options,
  log,
  foundations,
  doors,
  toolsets,
  workerSide,
  listening,
}: Parts): GuestEndpoint {
  const { store, settings, sessionKey } = foundations
  const { host, publicUrl } = options
  const hosts = ownHosts({ host, port: doors.guest.port, publicUrl })
  return createGuestEndpoint({
    sessions: store.sessions,
    toolsets,
    calls: workerSide.path.calls,
    listening,
    settings: () => guestLimits(settings),
    macKey: sessionKey,
    hosts: () => hosts,
    now: Date.now,
    random,
    report: (error, where) => log.error({ where, error: String(error) }, 'guest endpoint'),
    release,
    timing: { closeMs: answerMs },
  })
}

function createDenySets(store: Store, journal: Parts['journal'], { path }: WorkerSide): DenyDesk {
  return new DenyDesk({
    ...{ store, journal, inFlight: path.desk },
    clock: () => performance.now(),
    pause: (ms) => sleep(ms, undefined, { ref: false }),
  })
}

function ownPlacesOf({ control, guest }: Doors, { publicUrl }: UpOptions) {
  return ownPlaces([control, guest], publicUrl)
}

function createGuestWays(
  { foundations: { store, settings }, options, log, startedAt }: Parts,
  endpoint: GuestEndpoint,
): GuestWays {
  return new GuestWays({
    endpoint,
    session: (id) => store.sessions.get(id),
    admits: admitPeers(store, startedAt),
    holdMs: async ({ profileId }) =>
      1_000 * ((await store.profiles.get(profileId))?.settings.holdSeconds ?? 0),
    messageLimit: () => settings.current().guestBodyLimitBytes,
    dataDir: options.dataDir,
    now: Date.now,
    report: (error, where) => report(log, error, where),
  })
}

function report(log: Log, error: unknown, where: string): void {
  log.error({ where, error: String(error) }, 'guest ways')
}

function guestLimits(settings: Settings): GuestLimits {
  const values = settings.current()
  return {
    bodyLimitBytes: values.guestBodyLimitBytes,
    maxCallsPerSession: values.maxCallsPerSession,
    requestsPerMinute: values.requestsPerMinutePerSession,
  }
}

function apiDeps(parts: Parts, guestWays: GuestWays, endpoint: GuestEndpoint): ApiDeps {
  const { options, log, ids, instance, startedAt, foundations, doors, metrics, toolsets } = parts
  const { host, publicUrl, dataDir } = options
  return {
    store: foundations.store,
    journal: parts.journal,
    bodies: foundations.bodies,
    settings: foundations.settings,
    ids,
    random,
    instance,
    now: Date.now,
    log,
    metrics,
    toolsets,
    inFlight: parts.workerSide.path.desk,
    caughtUp: () => parts.workerSide.path.group.caughtUp(),
    checkpoints: parts.checkpoints,
    worker: parts.workerSide.admin,
    guestWays,
    shownTools: (session) => endpoint.shown(session),
    denySets: parts.denySets,
    oauth: new DeniedOAuth({
      ...{ worker: parts.workerSide.oauth, revoker: parts.workerSide.revoker },
      ...{ store: foundations.store, denySets: parts.denySets, now: Date.now },
    }),
    refresher: parts.workerSide.refresher,
    vault: parts.workerSide.keys,
    destinations: destinationsBeside(doors, options),
    guestUrl: () => doors.guest.url,
    publicUrl: () => publicUrl ?? doors.control.url,
    listener: () => ({ host, port: doors.control.port, publicUrl }),
    coreDumps,
    checkDataFolder: () => checkWritable(dataDir),
    self: { release, build, instance, startedAt },
  }
}

async function checkWritable(dataDir: string): Promise<void> {
  try {
    await access(dataDir, constants.W_OK)
  } catch (cause) {
    throw new SallyportError('data_not_writable', { cause })
  }
}
