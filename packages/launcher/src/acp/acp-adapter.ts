/** Starts an agent that speaks ACP, with a keeper around it; its server, its mode and its prompts come to it by ACP. */
import { fileURLToPath } from 'node:url'
import { SallyportError } from '@sallyport/protocol'
import { guestPlaces } from '../guest/places.ts'
import { agentAdapter } from '../harness/agent-adapter.ts'
import { agentPrograms } from '../harness/agent-programs.ts'
import { genericHarness } from '../harness/generic.ts'
import { inside, shimCommand } from '../harness/guest-shim.ts'
import type { HarnessAdapter, HarnessRequest, PreparedHarness } from '../harness/harness-adapter.ts'
import { type AcpAgentName, acpAgent, acpAgentNames } from './acp-agents.ts'
import type { AcpStart } from './conversation.ts'

const keeper = {
  from: fileURLToPath(new URL('./keeper.mjs', import.meta.url)),
  at: '/opt/sallyport/keeper.mjs',
} as const

/** What comes after the harness's name is what the agent is asked. */
function acpAdapter(name: AcpAgentName): HarnessAdapter {
  const { provider } = agentPrograms[name]
  return {
    name: `acp:${name}`,
    provider,
    prepare: async (asked) => {
      refuseWithoutWalls(asked)
      const { modelName, workspaceSettings } = asked
      const strict = workspaceSettings !== true
      const named = modelName === undefined ? {} : { modelName }
      const { program, start } = acpAgent(name, { strict, ...named })
      const prepared = await agentAdapter(program).prepare({ ...asked, words: [] })
      return kept(prepared, asked, start)
    },
  }
}

/** Any command that speaks ACP: what comes after the harness's name is the command. */
const acpCommand: HarnessAdapter = {
  name: 'acp',
  prepare: async (asked) => {
    refuseWithoutWalls(asked)
    return kept(await genericHarness.prepare(asked), asked, {})
  },
}

export const acpHarnesses: readonly HarnessAdapter[] = [
  acpCommand,
  ...acpAgentNames.map(acpAdapter),
]

/** The keeper and the places it is told of are those of a sandbox. */
function refuseWithoutWalls({ isolation }: HarnessRequest): void {
  if (isolation === 'none') throw new SallyportError('not_enforceable', { field: 'sandbox' })
}

function kept(
  prepared: PreparedHarness,
  { shim, isolation }: HarnessRequest,
  start: Partial<AcpStart>,
): PreparedHarness {
  const [command = '', ...args] = shimCommand(shim, isolation, guestPlaces.channel)
  return {
    ...prepared,
    command: [inside.node, keeper.at, ...prepared.command],
    mounts: [...prepared.mounts, keeper],
    acp: { folder: guestPlaces.workspace, command, args, ...start },
  }
}
