import { type Answer, executionStates } from '@sallyport/protocol'
import { type Command, Option } from 'commander'
import { asciiJson } from '../print/ascii-json.ts'
import { count, facts, moment, table } from '../print/table.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { group, verb, wholeNumber } from '../verb.ts'
import type { World } from '../world.ts'

export function addExecutionCommands(program: Command, world: World): void {
  const executions = group(program, 'executions', 'The journal of calls')
  verb(executions, {
    usage: 'list',
    description: 'List executions, newest first',
    example: 'sallyport executions list --state unknown',
  })
    .option('--session <id>', 'only those of a session')
    .addOption(new Option('--state <state>', 'only those in a state').choices(executionStates))
    .option('--limit <n>', 'at most so many (default: 100)', wholeNumber)
    .action(perform(world, listExecutions))
  verb(executions, {
    usage: 'show <id>',
    description: 'Show one execution',
    example: 'sallyport executions show exe_01jd0000000000000000000000',
  }).action(perform(world, showExecution))
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
  const rows = table(
    run.style,
    ['ID', 'STATE', 'CONNECTION', 'TOOL', 'CODE', 'ARRIVED', 'TOOK'],
    answer.items.map((one) => [
      one.id,
      one.state,
      one.connection,
      one.tool,
      one.code,
      moment(one.arrivedAt),
      took(one),
    ]),
  )
  return { json: answer, text: `${rows}\n${count(answer.items.length, 'execution')}` }
}

async function showExecution(run: Run, id: string): Promise<Outcome> {
  const one = await run.call('execution.show', { params: { id } })
  const text = facts(run.style, [
    ['id', one.id],
    ['state', one.state],
    ['connection', one.connection],
    ['tool', one.tool],
    ['mode', one.mode],
    ['access', one.access],
    ['code', one.code],
    ['field', one.field],
    ['session', one.sessionId],
    ['call', one.callId],
    ['arguments', one.argumentsDigest],
    ['binding', one.bindingHash],
    ['intent', one.intentId],
    ['result', one.resultDigest],
    ['result bytes', one.resultBytes],
    ['arrived', one.arrivedAt],
    ['barrier', one.barrierAt],
    ['not after', one.notAfter],
    ['finished', one.finishedAt],
    ['took', took(one)],
    ['notes', asciiJson(one.notes)],
  ])
  return { json: one, text }
}

function took({ tookMs }: Answer<'execution.show'>): string | null {
  return tookMs === null ? null : `${Math.round(tookMs)} ms`
}
