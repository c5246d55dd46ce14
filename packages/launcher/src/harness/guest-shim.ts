import type { SandboxClass } from '@sallyport/protocol'
import type { GuestMount } from '../sandbox.ts'
import type { ShimPlace } from './harness-adapter.ts'

export const inside = { node: '/opt/sallyport/node', program: '/opt/sallyport/shim.mjs' } as const

/** What makes the shim and its Node visible; where there are no walls they are where they are. */
export function shimMounts(shim: ShimPlace, isolation: SandboxClass): readonly GuestMount[] {
  if (isolation === 'none') return []
  return [
    { from: shim.node, at: inside.node },
    { from: shim.program, at: inside.program },
  ]
}

/** The words that start a shim in the guest, for every MCP configuration. `channel` is where the guest sees its socket. */
export function shimCommand(
  shim: ShimPlace,
  isolation: SandboxClass,
  channel: string,
): readonly string[] {
  const { node, program } = isolation === 'none' ? shim : inside
  return [node, program, '--socket', `${channel}/${socketName}`]
}

/** In the channel. */
export const socketName = 'mcp.sock'
const configurationName = 'mcp.json'

/** Tells the guest where its channel is. */
export const channelVariable = 'SANDBOX_CHANNEL'

/** The one configuration that most programs take: a stdio server by its command. For whoever brings none of their own. */
export function channelFile(
  shim: ShimPlace,
  isolation: SandboxClass,
  channel: string,
): { readonly name: string; readonly text: string } {
  const [command = '', ...args] = shimCommand(shim, isolation, channel)
  const servers = { mcpServers: { sallyport: { command, args } } }
  return { name: configurationName, text: `${JSON.stringify(servers, null, 2)}\n` }
}
