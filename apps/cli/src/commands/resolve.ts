import type { RequestBody } from '@sallyport/protocol'
import type { Command } from 'commander'
import { usageFailure } from '../failure.ts'
import { describeExecution } from '../print/execution.ts'
import { pageWidth } from '../print/width.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { verb } from '../verb.ts'
import type { World } from '../world.ts'

export function addResolveCommand(executions: Command, world: World): void {
  verb(executions, {
    usage: 'resolve <id>',
    description:
      'Say what became of a write whose outcome is unknown; the agent is told when it asks again',
    example:
      'sallyport executions resolve exe_01jd0000000000000000000000 --applied --note "the page is there"',
  })
    .option('--applied', 'it was carried out')
    .option('--not-applied', 'it had no effect')
    .option('--abandoned', 'nobody can find out')
    .requiredOption('--note <text>', 'how it is known; kept with the execution')
    .option('--allow-retry', 'the same call may be sent anew at once, instead of being answered')
    .action(perform(world, resolve))
}

interface ResolveOptions {
  readonly applied?: true
  readonly notApplied?: true
  readonly abandoned?: true
  readonly note: string
  readonly allowRetry?: true
}

async function resolve(run: Run, id: string, options: ResolveOptions): Promise<Outcome> {
  const body = {
    outcome: outcomeOf(options),
    note: options.note,
    allowRetry: options.allowRetry === true,
  }
  const one = await run.call('execution.resolve', { params: { id }, body })
  return {
    json: one,
    text: describeExecution(run.style, pageWidth(run.world), one).join('\n'),
  }
}

function outcomeOf(options: ResolveOptions): RequestBody<'execution.resolve'>['outcome'] {
  const { applied, notApplied, abandoned, allowRetry } = options
  const said = [
    ...(applied ? (['applied'] as const) : []),
    ...(notApplied ? (['not_applied'] as const) : []),
    ...(abandoned ? (['abandoned'] as const) : []),
  ]
  const [outcome] = said
  if (outcome === undefined || said.length > 1)
    throw usageFailure('give one of --applied, --not-applied and --abandoned', help)
  if (outcome === 'applied' && allowRetry)
    throw usageFailure('what was applied must not be sent again: --allow-retry does not fit', help)
  return outcome
}

const help = 'See "sallyport executions resolve --help".'
