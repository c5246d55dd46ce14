import { executionStates } from '@sallyport/protocol'
import { type Command, Option } from 'commander'
import { describeExecution, type Execution, took } from '../print/execution.ts'
import { count, moment, table } from '../print/table.ts'
import { pageWidth } from '../print/width.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { group, verb, wholeNumber } from '../verb.ts'
import type { World } from '../world.ts'
import { addResolveCommand } from './resolve.ts'

export function addExecutionCommands(program: Command, world: World): void {
  const executions = group(program, 'executions', 'The journal of calls')
  verb(executions, {
    usage: 'list',
    description: 'List executions, newest first, those of unknown outcome before all others',
    example: 'sallyport executions list --state unknown',
  })
    .option('--session <id>', 'only those of a session')
    .addOption(new Option('--state <state>', 'only those in a state').choices(executionStates))
    .option('--limit <n>', 'at most so many (default: 100)', wholeNumber)
    .action(perform(world, listExecutions))
  verb(executions, {
    usage: 'show <id>',
    description: 'Show one execution, with its arguments and result where they are kept',
    example: 'sallyport executions show exe_01jd0000000000000000000000',
  }).action(perform(world, showExecution))
  addResolveCommand(executions, world)
}

interface ListOptions {
  readonly session?: string
  readonly state?: string
  readonly limit?: number
}

async function listExecutions(run: Run, options: ListOptions): Promise<Outcome> {
  const { session, state, limit } = options
  const answer = await run.call('execution.list', {
    query: { session, state, limit: limit?.toString() },
  })
  const { items } = answer
  const unknown = items.filter((one) => one.state === 'unknown')
  const others = items.filter((one) => one.state !== 'unknown')
  const lines = [rows(run, [...unknown, ...others]), count(items.length, 'execution')]
  if (unknown.length > 0) lines.push(...whatToDo(run, unknown.length))
  return { json: answer, text: lines.join('\n') }
}

function rows({ style }: Run, executions: readonly Execution[]): string {
  return table(
    style,
    ['ID', 'STATE', 'CONNECTION', 'TOOL', 'CODE', 'ARRIVED', 'TOOK'],
    executions.map((one) => [
      one.id,
      one.state,
      one.connection,
      one.tool,
      one.code,
      moment(one.arrivedAt),
      took(one),
    ]),
  )
}

function whatToDo({ style }: Run, unknown: number): string[] {
  return [
    style.bad(
      `! ${count(unknown, 'write')} may have been carried out or not: the outcome is unknown.`,
    ),
    '  Find out at the server, then: sallyport executions resolve ID --applied | --not-applied | --abandoned --note TEXT',
  ]
}

async function showExecution(run: Run, id: string): Promise<Outcome> {
  const one = await run.call('execution.show', { params: { id } })
  const lines = describeExecution(run.style, pageWidth(run.world), one)
  if (one.state === 'unknown') lines.push('', ...whatToDo(run, 1))
  return { json: one, text: lines.join('\n') }
}
