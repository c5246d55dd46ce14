/** A whole Sallyport with one session, and the ways a shim may take to it. */
import { once } from 'node:events'
import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ProfileSettings } from '@sallyport/protocol'
import { connectUpstream, grantTools, publishTools } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { type ScriptedTool, startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'
import { type Device, startDevice } from './device.ts'
import { Shim, tokenFile } from './start-shim.ts'

export const shimWays = ['url', 'socket', 'fd', 'device', 'relay'] as const
export type ShimWay = (typeof shimWays)[number]

export interface Place {
  readonly sallyport: Sallyport
  readonly upstream: Upstream
  readonly session: SessionPlace
  /** Another session, with ways of its own. */
  openSession(): Promise<SessionPlace>
  remove(): Promise<void>
}

export interface SessionPlace {
  readonly id: string
  readonly token: string
  readonly endpoint: string
  readonly socket: string
  readonly relay: string
  /** A shim that takes this way. */
  shim(way: ShimWay, more?: readonly string[], node?: string, file?: string): Promise<Shim>
}

export interface PlaceOptions {
  readonly read?: readonly string[]
  /** `write_unattended`. */
  readonly write?: readonly string[]
  readonly tools?: readonly ScriptedTool[]
  readonly settings?: Partial<ProfileSettings>
  /** What the upstream demands. */
  readonly bearer?: string
}

const name = 'lab'
const profile = 'guests'

export async function makePlace(options: PlaceOptions = {}): Promise<Place> {
  const {
    read = ['counter_read', 'echo', 'slow'],
    write = ['counter_add'],
    tools,
    settings = {},
    bearer,
  } = options
  const upstream = await startUpstream({
    ...(tools ? { tools } : {}),
    ...(bearer === undefined ? {} : { bearer }),
  })
  // The same after a restart: a URL does not change under a shim.
  const sallyport = await startSallyport({ args: ['--guest-port', String(await freePort())] })
  const token = bearer === undefined ? {} : { token: bearer }
  await connectUpstream(sallyport, { name, url: upstream.url, ...token })
  await publishTools(sallyport, { name, read, write })
  await grantTools(sallyport, {
    name,
    url: upstream.url,
    profile,
    settings,
    read,
    write,
    unattended: true,
  })
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-ways-')))
  chmodSync(folder, 0o700)
  const removals: (() => void | Promise<void>)[] = []
  let sessions = 0
  const openSession = async (): Promise<SessionPlace> => {
    const number = ++sessions
    const [socket, relay] = [`s${number}`, `r${number}`].map((one) => join(folder, one)) as [
      string,
      string,
    ]
    const { id, token, endpoint } = await sallyport.api(
      'session.create',
      {},
      { profile, socket, relay },
    )
    const file = tokenFile(token)
    removals.push(file.remove)
    // A sandbox has the one; the next copy of a shim opens it after the one before.
    let opened: Promise<Device> | undefined
    const device = (): Promise<Device> => {
      opened ??= startDevice(() => connect(socket)).then((started) => {
        removals.push(started.end)
        return started
      })
      return opened
    }
    const ways: Record<ShimWay, () => Promise<[string[], unknown[]]>> = {
      url: async () => [['--url', `${sallyport.guestUrl}/mcp`, '--token-file', file.path], []],
      socket: async () => [['--socket', socket], []],
      relay: async () => [['--relay', relay], []],
      fd: async () => [['--fd', '3'], [await connected(socket)]],
      device: async () => [['--device', (await device()).path], []],
    }
    const shim: SessionPlace['shim'] = async (way, more = [], node, file) => {
      const [args, inherited] = await ways[way]()
      const started = new Shim({ args: [...args, ...more], more: inherited, node, file })
      // The guest alone holds its end.
      for (const one of inherited) (one as Socket).destroy()
      removals.push(() => started.kill())
      return started
    }
    return { id, token, endpoint, socket, relay, shim }
  }
  const session = await openSession()
  return {
    sallyport,
    upstream,
    session,
    openSession,
    remove: async () => {
      for (const remove of removals.toReversed()) await remove()
      await sallyport.remove()
      await upstream.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function connected(path: string): Promise<Socket> {
  const socket = connect(path)
  await once(socket, 'connect')
  return socket
}
