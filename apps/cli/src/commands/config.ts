import { Argument, type Command } from 'commander'
import { harnessConfig, harnessNames, tokenVariable } from '../harness-config.ts'
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
    .action(perform(world, printConfig))
}

type Harness = (typeof harnessNames)[number]

async function printConfig(
  run: Run,
  harness: Harness,
  { session }: { session: string },
): Promise<Outcome> {
  const { id, endpoint } = await run.call('session.show', { params: { id: session } })
  const { file, format, text } = await harnessConfig(harness, endpoint)
  const json = { id, harness, file, format, text, environment: [tokenVariable] }
  // stdout holds nothing but what is to be pasted.
  if (run.world.stderr.isTTY)
    run.world.stderr.write(
      `Goes into ${cellText(file)}. Put the token of the session into ${tokenVariable} in the environment of the agent.\n`,
    )
  return { json, text: text.trimEnd() }
}
