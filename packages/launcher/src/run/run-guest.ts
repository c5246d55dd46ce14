/**
 * One run: a session is created with the plan of a sandbox, the sandbox is made and looked at, the session opens on what was
 * seen, the guest is let go, and in the end all of it goes, in the order in which nothing is lost.
 */
import { join } from 'node:path'
import { type BornProcess, type DenySet, SallyportError } from '@sallyport/protocol'
import { admitFolder, holds } from '../guest/admit-folder.ts'
import { guestPlaces } from '../guest/places.ts'
import { channelFile, channelVariable, socketName } from '../harness/guest-shim.ts'
import type { HarnessSession } from '../harness/harness-adapter.ts'
import { checkReach, plannedReach, reachEnvironment } from '../outlets/guest-reach.ts'
import { forwardingFor, Outlets } from '../outlets/outlets.ts'
import { bornProcess } from '../process/born-process.ts'
import type { Guest, GuestSpec, PlannedGuest } from '../sandbox.ts'
import { type Channel, makeChannel } from './channel.ts'
import { askToEnd, type EndReason, endSession, proveGone } from './end-run.ts'
import { KeptDenials } from './kept-denials.ts'
import { defaultTiming, keepPulse, type PulseEnd } from './pulse.ts'
import type { RunEnd, RunRequest } from './run-request.ts'

/**
 * Resolves once everything of the run is gone. Rejects with a SallyportError (or what the port rejected with) when the guest
 * was never released, and with `not_gone` when it cannot be proved that it has ended.
 */
export async function runGuest(request: RunRequest): Promise<RunEnd> {
  if ((await request.sandbox.lacks()) !== undefined) throw new SallyportError('no_isolation')
  const launcher = bornProcess(process.pid)
  if (!launcher) throw new TypeError('a process that cannot see itself')
  checkReach(request.reach, request.sandbox.isolation)
  checkApart(request)
  const channel = makeChannel(request.runtimeFolder, launcher, request.channelFolder)
  let outlets: Outlets | undefined
  let mayGo = true
  try {
    outlets = await Outlets.open(request.reach, channel.folder)
    return await new Run(request, channel, launcher, outlets).toItsEnd()
  } catch (error) {
    mayGo = !(error instanceof SallyportError && error.code === 'not_gone')
    throw error
  } finally {
    await outlets?.close()
    if (mayGo) channel.remove()
  }
}

/** What lies between other guests and their gateways is nothing for this one, which could write there. */
function checkApart({ workspace, dataFolder, runtimeFolder }: RunRequest): void {
  if (holds(admitFolder(workspace, dataFolder, 'workspace'), runtimeFolder))
    throw new SallyportError('workspace_refused', { field: 'workspace' })
}

type Created = HarnessSession & { readonly ownerKey: string; readonly kept: KeptDenials }
type Over =
  | { readonly why: 'guest_ended'; readonly code: number }
  | { readonly why: 'asked' }
  | PulseEnd

class Run {
  readonly #request: RunRequest
  readonly #channel: Channel
  readonly #launcher: BornProcess
  readonly #outlets: Outlets
  #guest: Guest | undefined

  constructor(request: RunRequest, channel: Channel, launcher: BornProcess, outlets: Outlets) {
    this.#request = request
    this.#channel = channel
    this.#launcher = launcher
    this.#outlets = outlets
  }

  async toItsEnd(): Promise<RunEnd> {
    const { port, sandbox, timing } = this.#request
    const planned = sandbox.plan(this.#spec())
    const created = await this.#create(planned)
    const enough = new AbortController()
    const look = async () => (await this.#made().verify()).evidence
    const { id: session, ownerKey } = created
    const denied = (revision: number) => created.kept.hear(revision)
    const pulse = { port, session, ownerKey, look, denied }
    const beating = keepPulse({ ...pulse, timing: { ...defaultTiming, ...timing } }, enough.signal)
    try {
      await this.#open(planned, created)
      return await this.#finish(created, await this.#untilOver(beating))
    } finally {
      enough.abort()
      await beating
    }
  }

  async #create({ plan }: PlannedGuest): Promise<Created> {
    const { port, sandbox, session, told } = this.#request
    const { isolation } = sandbox
    const socket = join(this.#channel.folder, socketName)
    const owned = { plan, owner: this.#launcher }
    const created = await port.create({ ...session, isolation, socket, sandbox: owned })
    told?.({ kind: 'created', session: created })
    const { id, ownerKey = '' } = created
    const deny = (set: DenySet): Promise<void> => this.#outlets.deny(set)
    const about = { session: id, ownerKey, first: created.denySet, hasWalls: isolation !== 'none' }
    const kept = new KeptDenials({ port, deny, ...about })
    return { ...created, ownerKey, kept }
  }

  /** The session is open and the guest runs; or neither is there any more, and it rejects. */
  async #open(planned: PlannedGuest, created: Created): Promise<void> {
    try {
      await this.#makeAndShow(planned, created)
    } catch (error) {
      const isOther = (error as { code?: unknown }).code === 'evidence_mismatch'
      const reason = isOther ? 'evidence_mismatch' : 'sandbox_failed'
      await endSession(this.#request.port, created, reason)
      await this.#destroy()
      throw error
    }
  }

  /** Released only when both sides find that what was seen is what was planned. */
  async #makeAndShow(planned: PlannedGuest, created: Created): Promise<void> {
    const { port, sandbox, prepared, stop, told } = this.#request
    const { id, ownerKey, kept } = created
    await kept.begin()
    this.#outlets.checkModel()
    this.#guest = await sandbox.create(planned, prepared.files(created))
    this.#channel.note(this.#guest.process)
    told?.({ kind: 'made', guest: this.#guest })
    const { evidence, mismatches } = await this.#guest.verify()
    await kept.say((denySet) => port.show(id, { ownerKey, evidence, denySet }))
    const [mismatch] = mismatches
    if (mismatch)
      throw new SallyportError('evidence_mismatch', { field: mismatch.what, cause: mismatch })
    told?.({ kind: 'verified', evidence })
    if (stop.aborted) return
    this.#outlets.openFor(evidence)
    this.#guest.release()
    told?.({ kind: 'released', guest: this.#guest })
  }

  #untilOver(beating: Promise<PulseEnd>): Promise<Over> {
    const { stop } = this.#request
    const asked = new Promise<Over>((resolve) => {
      const tell = (): void => resolve({ why: 'asked' })
      if (stop.aborted) tell()
      else stop.addEventListener('abort', tell, { once: true })
    })
    const ended = this.#made().ended.then(({ code }): Over => ({ why: 'guest_ended', code }))
    return Promise.race([asked, ended, beating])
  }

  /** First the session, so that what is in flight is finished or recorded; then the sandbox. */
  async #finish(created: Created, over: Over): Promise<RunEnd> {
    const guest = this.#made()
    const own = ownReason(over)
    if (own) await endSession(this.#request.port, created, own)
    if (over.why !== 'guest_ended') await askToEnd(guest)
    await this.#destroy()
    const { code } = await guest.ended
    return { session: created.id, code, reason: own ?? othersReason(over) }
  }

  async #destroy(): Promise<void> {
    const { told } = this.#request
    if (this.#guest)
      await proveGone(this.#guest, (reason) => told?.({ kind: 'unresolved', reason }))
  }

  #spec(): GuestSpec {
    const { prepared, workspace, dataFolder, stdio, shim, sandbox, reach } = this.#request
    const { covered, nesting } = prepared
    const { folder } = this.#channel
    const channel = sandbox.isolation === 'none' ? folder : guestPlaces.channel
    this.#channel.put(channelFile(shim, sandbox.isolation, channel))
    const forwarding = forwardingFor(reach, channel)
    const carried = plannedReach(reach)
    return {
      command: [...forwarding.words, ...prepared.command],
      environment: {
        [channelVariable]: channel,
        ...reachEnvironment(reach),
        ...prepared.environment,
      },
      mounts: [...prepared.mounts, ...forwarding.mounts],
      ...{ covered, nesting, stdio, workspace, dataFolder, channel: folder },
      ...(carried ? { reach: carried } : {}),
    }
  }

  #made(): Guest {
    if (!this.#guest) throw new TypeError('a guest that was not made yet')
    return this.#guest
  }
}

/** What the gateway learns from us. */
function ownReason(over: Over): EndReason | undefined {
  if (over.why === 'asked') return 'launcher_stopped'
  if (over.why !== 'guest_ended') return undefined
  return over.code > 128 ? 'guest_killed' : 'guest_ended'
}

/** What we learned, or had to find out without it. */
function othersReason(over: Over): string {
  if (over.why === 'session_ended') return over.reason
  if (over.why === 'refused') return String((over.error as { code?: unknown }).code ?? 'internal')
  return over.why
}
