import { Argument, type Command } from 'commander'
import { usageFailure } from '../failure.ts'
import {
  harnessConfig,
  harnessNames,
  type ShimPlace,
  shimConfig,
  tokenVariable,
} from '../harness-config.ts'
import { cellText } from '../print/table.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { verb } from '../verb.ts'
import type { World } from '../world.ts'

export function addConfigCommand(program: Command, world: World): void {
  verb(program, {
    usage: 'config',
    description: 'Print the MCP entry for an agent program; the token stays out of it',
    example: 'sallyport config claude --session ses_01jd0000000000000000000000',
  })
    .addArgument(new Argument('<harness>', 'agent program').choices(harnessNames))
    .requiredOption('--session <id>', 'session that the entry leads to')
    .option('--shim <file>', 'start the shim that lies there in the sandbox instead')
    .option('--socket <path>', 'with --shim: by this socket, as the sandbox sees it')
    .option('--relay <dir>', 'with --shim: by this folder, as the sandbox sees it')
    .option(
      '--token-file <f>',
      'with --shim: by the endpoint, with the token in this file of the sandbox',
    )
    .action(perform(world, printConfig))
}

type Harness = (typeof harnessNames)[number]

interface ConfigOptions {
  readonly session: string
  readonly shim?: string
  readonly socket?: string
  readonly relay?: string
  readonly tokenFile?: string
}

async function printConfig(run: Run, harness: Harness, options: ConfigOptions): Promise<Outcome> {
  const way = wayOf(options)
  const { id, endpoint } = await run.call('session.show', { params: { id: options.session } })
  const config = way
    ? await shimConfig(harness, { shim: way.shim, way: way.to(endpoint) })
    : await harnessConfig(harness, endpoint)
  const { file, format, text } = config
  const environment = way ? [] : [tokenVariable]
  const json = { id, harness, file, format, text, environment }
  const then = way
    ? 'It needs Node 18 or later there.'
    : `Put the token of the session into ${tokenVariable} in the environment of the agent.`
  // stdout holds nothing but what is to be pasted.
  if (run.world.stderr.isTTY) run.world.stderr.write(`Goes into ${cellText(file)}. ${then}\n`)
  return { json, text: text.trimEnd() }
}

interface Way {
  readonly shim: string
  readonly to: (endpoint: string) => ShimPlace['way']
}

function wayOf({ shim, socket, relay, tokenFile }: ConfigOptions): Way | undefined {
  const given = [socket, relay, tokenFile].filter((way) => way !== undefined)
  if (given.length !== (shim === undefined ? 0 : 1))
    throw usageFailure('--shim needs one of --socket, --relay, --token-file, and they need it')
  if (shim === undefined) return undefined
  if (socket !== undefined) return { shim, to: () => ['--socket', socket] }
  if (relay !== undefined) return { shim, to: () => ['--relay', relay] }
  return { shim, to: (endpoint) => ['--url', endpoint, '--token-file', tokenFile as string] }
}
