/** What a client test needs around the client: an upstream with a credential, Sallyport before it, a fake model. */
import { randomBytes } from 'node:crypto'
import type { GrantLimits, ProfileSettings } from '@sallyport/protocol'
import { connectUpstream, grantTools, publishTools } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { type ScriptedTool, startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'
import type { GuestServer } from './client-run.ts'
import { type FakeModel, startFakeModel } from './fake-model.ts'

export interface GovernedRun {
  readonly upstream: Upstream
  readonly sallyport: Sallyport
  readonly model: FakeModel
  /** What the upstream demands and nobody before it may hold. */
  readonly credential: string
  /** Opens a session; the guest's server has the name of the connection. */
  openSession(): Promise<GuestServer & { readonly id: string }>
  remove(): Promise<void>
}

export const connectionName = 'lab'

export interface WriteGrant {
  readonly tool: string
  readonly mode: 'write_unattended' | 'write_with_approval'
  readonly limits?: GrantLimits
}

export interface GovernedTools {
  /** Reviewed for reading and granted. */
  readonly granted: readonly string[]
  /** Reviewed for writing, and granted so. */
  readonly writes?: readonly WriteGrant[]
  /** Reviewed and published, but in no grant. */
  readonly withheld?: readonly string[]
  /** Instead of what the upstream offers by itself. */
  readonly tools?: readonly ScriptedTool[]
  readonly settings?: Partial<ProfileSettings>
}

export async function startGovernedRun(choice: GovernedTools): Promise<GovernedRun> {
  const credential = `crd-${randomBytes(24).toString('hex')}`
  const upstream = await startUpstream({
    bearer: credential,
    ...(choice.tools ? { tools: choice.tools } : {}),
  })
  const sallyport = await startSallyport()
  const model = await startFakeModel()
  const name = connectionName
  const profile = 'clients'
  const { granted, writes = [], withheld = [], settings = {} } = choice
  await connectUpstream(sallyport, { name, url: upstream.url, token: credential })
  const write = writes.map(({ tool }) => tool)
  await publishTools(sallyport, { name, read: [...granted, ...withheld], write })
  await grantTools(sallyport, { name, url: upstream.url, profile, settings, read: granted })
  for (const { tool, mode, limits = {} } of writes) {
    const confirmUnattended = mode === 'write_unattended'
    const grant = { connection: name, tools: tool, mode, limits, confirmUnattended }
    await sallyport.api('profile.grant', { name: profile }, grant)
  }
  return {
    upstream,
    sallyport,
    model,
    credential,
    openSession: async () => {
      const { id, token, connections } = await sallyport.api('session.create', {}, { profile })
      const endpoint = connections.find((one) => one.name === name)?.endpoint
      if (!endpoint) throw new Error(`the session has no connection ${name}`)
      return { id, name, endpoint, token }
    },
    remove: async () => {
      await sallyport.remove()
      await upstream.close()
      await model.close()
    },
  }
}

/** A call as a guest may write it itself, without any client in between. */
export async function callByName(
  server: GuestServer,
  tool: string,
): Promise<{ error?: { code: number } }> {
  const answer = await fetch(server.endpoint, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${server.token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': tool,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: tool,
        arguments: {},
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  })
  return (await answer.json()) as { error?: { code: number } }
}
