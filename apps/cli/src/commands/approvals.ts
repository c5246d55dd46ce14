import { approvalStates } from '@sallyport/protocol'
import { type Command, Option } from 'commander'
import { type Approval, callerWord, describeApproval, isOpen } from '../print/approval.ts'
import { shownText } from '../print/shown-text.ts'
import { count, table } from '../print/table.ts'
import { timeLeft } from '../print/time.ts'
import { cut, pageWidth } from '../print/width.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { group, verb, wholeNumber } from '../verb.ts'
import type { World } from '../world.ts'
import { addWatchCommand } from './watch.ts'

const exampleId = 'apr_01jd0000000000000000000000'

export function addApprovalCommands(program: Command, world: World): void {
  const approvals = group(program, 'approvals', 'Calls that wait for a decision of a person')
  verb(approvals, {
    usage: 'list',
    description: 'List what waits for a decision, newest first',
    example: 'sallyport approvals list',
  })
    .addOption(
      new Option('--state <state>', 'only those in a state')
        .choices([...approvalStates, 'all'])
        .default('pending'),
    )
    .option('--session <id>', 'only those of a session')
    .option('--limit <n>', 'at most so many (default: 100)', wholeNumber)
    .action(perform(world, listApprovals))
  verb(approvals, {
    usage: 'show <id>',
    description: 'Show what would be sent, who asks, and what was sent before',
    example: `sallyport approvals show ${exampleId}`,
  })
    .option('--raw', 'the exact arguments, in ASCII, instead of the formatted ones')
    .action(perform(world, showApproval))
  addDecisions(approvals, world)
  addWatchCommand(approvals, world)
}

function addDecisions(approvals: Command, world: World): void {
  verb(approvals, {
    usage: 'approve <id>',
    description: 'Let the call be sent, once',
    example: `sallyport approvals approve ${exampleId} --note "as agreed"`,
  })
    .option('--note <text>', 'why; kept with the decision')
    .action(perform(world, (run, id: string, options: Note) => decide(run, 'approve', id, options)))
  verb(approvals, {
    usage: 'deny <id>',
    description: 'Refuse the call; nothing is sent',
    example: `sallyport approvals deny ${exampleId} --note "not this one"`,
  })
    .option('--note <text>', 'why; kept with the decision')
    .action(perform(world, (run, id: string, options: Note) => decide(run, 'deny', id, options)))
}

interface ListOptions {
  readonly state: string
  readonly session?: string
  readonly limit?: number
}

async function listApprovals(run: Run, options: ListOptions): Promise<Outcome> {
  const { session, limit } = options
  const state = options.state === 'all' ? undefined : options.state
  const query = { state, session, limit: limit?.toString() }
  const answer = await run.call('approval.list', { query })
  const { items } = answer
  return { json: answer, text: `${rows(run, items)}\n${count(items.length, 'approval')}` }
}

/** Longer names are cut, with a mark; `show` has them whole. */
const longestCell = 32

function rows({ style, world }: Run, approvals: readonly Approval[]): string {
  return table(
    style,
    ['ID', 'STATE', 'LEFT', 'WHO ASKS', 'CONNECTION', 'TOOL', 'CALLER', 'SESSION'],
    approvals.map((one) => [
      one.id,
      one.state,
      isOpen(one) ? timeLeft(one.expiresAt, world.now()) : null,
      ...[one.requester, one.connection, one.tool, callerWord(one), one.sessionLabel].map((text) =>
        cut(shownText(text ?? ''), longestCell),
      ),
    ]),
  )
}

async function showApproval(run: Run, id: string, { raw }: { raw?: true }): Promise<Outcome> {
  const one = await run.call('approval.show', { params: { id } })
  const page = { style: run.style, width: pageWidth(run.world), now: run.world.now() }
  return { json: one, text: describeApproval({ ...page, raw: raw === true }, one).lines.join('\n') }
}

interface Note {
  readonly note?: string
}

async function decide(
  run: Run,
  decision: 'approve' | 'deny',
  id: string,
  { note }: Note,
): Promise<Outcome> {
  const body = note === undefined ? {} : { note }
  const one = await run.call(`approval.${decision}`, { params: { id }, body })
  return { json: one, text: `${rows(run, [one])}\n${whatFollows(one)}` }
}

function whatFollows({ state }: Approval): string {
  if (state === 'approved') return 'Approved: the call may be sent, once.'
  if (state === 'pending') return 'Counted: another person must approve it too.'
  return state === 'denied' ? 'Denied: nothing is sent.' : `It is ${state}.`
}
