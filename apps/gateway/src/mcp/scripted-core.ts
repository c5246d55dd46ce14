/** A guest endpoint on a real socket with a core that answers by script: for the tests of this folder and the bench. */
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type {
  BoundTool,
  CallOutcome,
  CallRequest,
  Calls,
  CollectRequest,
  Session,
  Toolset,
} from '@sallyport/core'
import { SallyportError } from '@sallyport/protocol'
import { digestBytes } from '@sallyport/protocol/node'
import { ownHosts } from '../http/allowed-hosts.ts'
import {
  createGuestEndpoint,
  type GuestEndpoint,
  type GuestEndpointOptions,
} from './guest-endpoint.ts'
import { guestServerOptions } from './timing.ts'

export type ScriptedTool = Partial<Omit<BoundTool, 'binding'>> & {
  readonly connection?: string
  readonly name?: string
  readonly access?: BoundTool['binding']['access']
}

export function boundTool(scripted: ScriptedTool = {}) {
  const { connection = 'files', name = 'read', access = 'read', ...rest } = scripted
  const binding = {
    access,
    connectionName: connection,
    exposedName: name,
    catalogId: `cat_${connection}`,
    grantId: `gra_${connection}_${name}`,
    tool: name,
  }
  const tool: BoundTool = {
    binding: binding as BoundTool['binding'],
    title: null,
    description: null,
    inputSchema: { type: 'object' },
    outputSchema: null,
    annotations: null,
    grantLimits: {} as BoundTool['grantLimits'],
    paramHeaders: [],
    effective: (text) => ({ ok: true, text }),
    ...rest,
  }
  return tool
}

export function toolsetOf(tools: readonly BoundTool[]): Toolset {
  const nameOf = ({ binding }: BoundTool, connection: string | null) =>
    connection === null
      ? `${binding.connectionName}__${binding.exposedName}`
      : binding.connectionName === connection && binding.exposedName
  return {
    tools,
    find: (connection, name) => tools.find((tool) => nameOf(tool, connection) === name),
  }
}

export const textResult = (text: string): CallOutcome =>
  result({ content: [{ type: 'text', text }] })

export function result(value: object | Buffer): CallOutcome {
  const bytes = Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value))
  return { kind: 'result', executionId: 'exe_1' as never, result: bytes, isError: false }
}

export interface Script {
  readonly tools?: readonly BoundTool[]
  readonly answer?: (call: CallRequest) => CallOutcome | Promise<CallOutcome>
  readonly collect?: (request: CollectRequest) => CallOutcome | Promise<CallOutcome>
  readonly options?: Partial<GuestEndpointOptions>
  readonly session?: Partial<Session>
}

export interface ScriptedEndpoint {
  readonly port: number
  readonly url: string
  readonly token: string
  readonly endpoint: GuestEndpoint
  readonly calls: CallRequest[]
  readonly collects: CollectRequest[]
  readonly reports: unknown[]
  readonly clock: { now: number }
  /** Another session of the same endpoint. */
  addSession(overrides?: Partial<Session>): { readonly token: string; readonly session: Session }
  set(change: {
    state?: Session['state']
    callable?: readonly BoundTool[]
    isStoreDown?: boolean
  }): void
  /** Open ones. One that ends is counted until everybody was told of its end. */
  connections(): number
  close(): Promise<void>
}

function scriptedSessions() {
  const byHash = new Map<string, Session>()
  const addSession = (overrides: Partial<Session> = {}) => {
    const token = randomBytes(32).toString('base64url')
    const id = `ses_${byHash.size + 1}`
    const base = {
      id,
      state: 'open',
      isolation: 'external',
      tokenHash: digestBytes(token),
      unavailable: [],
    }
    const session = { ...base, ...overrides } as unknown as Session
    byHash.set(session.tokenHash, session)
    return { token, session }
  }
  return { byHash, addSession }
}

function scriptedCalls({ answer, collect }: Script) {
  const calls: CallRequest[] = []
  const collects: CollectRequest[] = []
  const core: Calls = {
    call: async (call) => {
      calls.push(call)
      return (await answer?.(call)) ?? textResult('done')
    },
    collect: async (request) => {
      collects.push(request)
      return (await collect?.(request)) ?? textResult('collected')
    },
  }
  return { calls, collects, core }
}

export async function startScripted(script: Script = {}): Promise<ScriptedEndpoint> {
  const tools = script.tools ?? [boundTool()]
  const toolset = toolsetOf(tools)
  const clock = { now: 1_800_000_000_000 }
  const { calls, collects, core } = scriptedCalls(script)
  const reports: unknown[] = []
  const { byHash, addSession } = scriptedSessions()
  let callable = tools
  let isStoreDown = false
  const first = addSession(script.session)
  let hosts: ReadonlySet<string> = new Set()
  const endpoint = createGuestEndpoint({
    sessions: {
      byTokenHash: async (hash) => {
        if (isStoreDown) throw new SallyportError('store_unavailable')
        return byHash.get(hash)
      },
      get: async (id) => [...byHash.values()].find((session) => session.id === id),
    },
    toolsets: { of: async () => toolset, callable: async () => callable },
    listening: async (_session, open) => open(),
    calls: core,
    settings: () => ({
      bodyLimitBytes: 4_194_304,
      maxCallsPerSession: 64,
      requestsPerMinute: 100_000,
    }),
    macKey: Buffer.alloc(32, 7),
    hosts: () => hosts,
    now: () => clock.now,
    random: (size) => randomBytes(size),
    report: (error) => void reports.push(error),
    release: '9.9.9',
    ...script.options,
  })
  const server = createServer(guestServerOptions, endpoint.handle)
  server.on('checkContinue', endpoint.handle)
  const connections = new Set<Socket>()
  server.on('connection', (socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  hosts = ownHosts({ host: '127.0.0.1', port, publicUrl: undefined })
  return {
    port,
    url: `http://127.0.0.1:${port}/mcp`,
    token: first.token,
    endpoint,
    calls,
    collects,
    reports,
    clock,
    addSession,
    set: (change) => {
      callable = change.callable ?? callable
      isStoreDown = change.isStoreDown ?? isStoreDown
      const { state } = change
      if (state) byHash.set(first.session.tokenHash, { ...first.session, state })
    },
    connections: () => connections.size,
    close: async () => {
      await endpoint.close()
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
