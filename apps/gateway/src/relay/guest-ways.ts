/**
 * The ways to this gateway that single sessions have beside the guest listener: a Unix socket, a relay folder. They are made
 * with the session and removed with it; a gateway that starts again on the same data folder opens them again.
 */
import { randomBytes } from 'node:crypto'
import { lstatSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Session } from '@sallyport/core'
import { release, SallyportError, type SessionId } from '@sallyport/protocol'
import { type GatewayRecord, recordVersion } from '@sallyport/protocol/shim'
import { writeDurably } from '../files/write-durably.ts'
import type { GuestEndpoint } from '../mcp/guest-endpoint.ts'
import type { AdmitPeer } from './admit-peer.ts'
import { checkGuestPlace } from './guest-place.ts'
import { InnerDoor } from './inner-door.ts'
import { LocalFiles } from './local-files.ts'
import { Relay } from './relay.ts'
import { openSessionDoor, type SessionDoor } from './session-door.ts'
import { StreamGuest } from './stream-guest.ts'

export interface GuestWaysDeps {
  readonly endpoint: Pick<GuestEndpoint, 'handleOf'>
  /** In any state; undefined when there is none. Rejects when it cannot be read. */
  readonly session: (id: SessionId) => Promise<Session | undefined>
  /** How long a call of that session may be held. */
  readonly holdMs: (session: Session) => Promise<number>
  readonly messageLimit: () => number
  readonly dataDir: string
  readonly now: () => number
  readonly report: (error: unknown, where: string) => void
  readonly admits: AdmitPeer
}

export interface Places {
  readonly socket?: string | undefined
  readonly relay?: string | undefined
}

interface Kept extends Places {
  readonly session: SessionId
}

interface Open {
  readonly kept: Kept
  door?: SessionDoor
  relay?: Relay
}

/** A writer waits that long for a sign that somebody is at it, at least. */
const leastWaitMs = 60_000

export class GuestWays {
  readonly #deps: GuestWaysDeps
  readonly #file: string
  /** Tells shims that what an earlier process of this gateway was asked is answered by nobody. */
  readonly #self = randomBytes(16).toString('hex')
  readonly #open = new Map<SessionId, Open>()
  #looking: Promise<void> | undefined

  constructor(deps: GuestWaysDeps) {
    this.#deps = deps
    this.#file = join(deps.dataDir, 'guest-ways.json')
  }

  /** What may be made. Throws `bad_guest_path`; nothing was made yet. */
  async check({ socket, relay }: Places): Promise<Places> {
    const { dataDir } = this.#deps
    return {
      ...(socket === undefined ? {} : { socket: await checkGuestPlace('socket', socket, dataDir) }),
      ...(relay === undefined ? {} : { relay: await checkGuestPlace('relay', relay, dataDir) }),
    }
  }

  /** Opens what was checked. Throws `bad_guest_path` when it is too late for that; then nothing is left of it. */
  async open(session: Session, places: Places): Promise<void> {
    if (places.socket === undefined && places.relay === undefined) return
    const kept = { session: session.id, ...places }
    try {
      await this.#begin(session, kept, (path) => LocalFiles.create(path))
      this.#save()
    } catch (thrown) {
      await this.#end(session.id, 'end')
      throw thrown instanceof SallyportError
        ? thrown
        : new SallyportError('bad_guest_path', { cause: thrown })
    }
  }

  /** What an earlier process of this gateway left open. What cannot be opened again is reported. */
  async restore(): Promise<void> {
    const saved = this.#saved()
    for (const kept of saved) {
      try {
        const session = await this.#deps.session(kept.session)
        const isOver = session === undefined || session.state === 'ended'
        if (kept.socket !== undefined) removeSocket(kept.socket)
        if (isOver) await removeRelay(kept)
        else await this.#begin(session, kept, (path) => LocalFiles.open(path))
      } catch (error) {
        this.#deps.report(error, 'guest ways')
      }
    }
    if (saved.length > 0) this.#save()
  }

  /** Ends the ways of sessions that have ended. A look that is asked for during one waits for it. */
  look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  /** The gateway stops: sockets go, folders stay for the next one. */
  async close(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((id) => this.#end(id)))
  }

  async #lookOnce(): Promise<void> {
    let hasEnded = false
    for (const id of [...this.#open.keys()]) {
      const session = await this.#deps.session(id)
      if (session !== undefined && session.state !== 'ended') continue
      await this.#end(id, 'end')
      hasEnded = true
    }
    if (hasEnded) this.#save()
  }

  async #begin(
    session: Session,
    kept: Kept,
    filesAt: (path: string) => Promise<LocalFiles>,
  ): Promise<void> {
    const { endpoint, now, messageLimit: limit, report, admits } = this.#deps
    const handle = endpoint.handleOf(session.id)
    const door = new InnerDoor(handle)
    const waitMs = Math.max(leastWaitMs, await this.#deps.holdMs(session))
    const gateway = this.#self
    const self = (): GatewayRecord => ({ v: recordVersion, release, gateway, at: now(), waitMs })
    const open: Open = { kept }
    this.#open.set(session.id, open)
    if (kept.socket !== undefined)
      open.door = await openSessionDoor({
        path: kept.socket,
        admits: (socket) => admits(session.id, socket),
        report,
        handle,
        onStream: (socket) => new StreamGuest(socket, { door, now, limit, self }),
      })
    if (kept.relay !== undefined) {
      const told = (error: unknown): void => report(error, 'relay')
      const gone = (): void => told(new Error(`the relay folder of ${session.id} is gone`))
      const files = await filesAt(kept.relay)
      open.relay = new Relay({ files, door, self, now, report: told, gone })
      await open.relay.start()
    }
  }

  async #end(id: SessionId, how?: 'end'): Promise<void> {
    const open = this.#open.get(id)
    this.#open.delete(id)
    await open?.door?.close()
    await open?.relay?.stop(how)
  }

  #save(): void {
    const items = [...this.#open.values()].map(({ kept }) => kept)
    writeDurably(this.#file, `${JSON.stringify({ items })}\n`)
  }

  #saved(): readonly Kept[] {
    try {
      return JSON.parse(readFileSync(this.#file, 'utf8')).items
    } catch {
      // None was ever made, or the file is of nobody: then there is nothing to go on with.
      return []
    }
  }
}

/** Of a process that was killed. */
function removeSocket(path: string): void {
  try {
    if (lstatSync(path).isSocket()) rmSync(path)
  } catch {
    // It is not there.
  }
}

async function removeRelay({ relay }: Kept): Promise<void> {
  if (relay !== undefined) await (await LocalFiles.open(relay)).close('end')
}
