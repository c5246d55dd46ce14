import { escapeText } from '@sallyport/protocol'
import { type Finding, findingKinds, type JournalReport } from '@sallyport/protocol/node'
import type { Command } from 'commander'
import { journalOf } from '../audit/read-journal.ts'
import { verifyFile, verifyRunning } from '../audit/verify-journal.ts'
import { failure, usageFailure } from '../failure.ts'
import { count, facts, moment } from '../print/table.ts'
import { writeOut } from '../print/write-out.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { group, verb } from '../verb.ts'
import type { World } from '../world.ts'

export function addAuditCommands(program: Command, world: World): void {
  const audit = group(program, 'audit', 'The record of what was decided, and whether it is whole')
  verb(audit, {
    usage: 'verify',
    description:
      'Check the chain of events, the checkpoints over it, and the executions it tells of',
    example: 'sallyport audit verify',
  })
    .option('--file <file>', 'check an export instead; nothing else is needed')
    .action(perform(world, verify))
  verb(audit, {
    usage: 'export',
    description:
      'Print the journal, one JSON text a line; "audit verify --file" checks it anywhere',
    example: 'sallyport audit export --since 2026-11-01 > journal.ndjson',
  })
    .option('--since <time>', 'a part that begins at the last checkpoint before that time')
    .action(perform(world, exportJournal))
}

async function verify(run: Run, { file }: { readonly file?: string }): Promise<Outcome> {
  const work = file === undefined ? verifyRunning(run.call) : verifyFile(file)
  const report = await run.during('Reading the journal', work)
  const isWhole = report.findings.length === 0
  return {
    json: { state: isWhole ? 'whole' : 'damaged', ...describeTimes(report) },
    text: describe(run, report),
    failure: isWhole
      ? undefined
      : failure('journal_damaged', { next: 'What was found is listed above.' }),
  }
}

function describeTimes({ newestCheckpoint, ...report }: JournalReport) {
  const at = newestCheckpoint && new Date(newestCheckpoint.at).toISOString()
  return { ...report, newestCheckpoint: newestCheckpoint && { ...newestCheckpoint, at } }
}

function describe({ style }: Run, report: JournalReport): string {
  const { checked, newestCheckpoint, notYetCovered, keys, from, findings, more } = report
  const { streams, pages, events, executions, rows, checkpoints } = checked
  const newest = newestCheckpoint
    ? `${newestCheckpoint.sequence}, of ${moment(new Date(newestCheckpoint.at).toISOString())}`
    : 'none'
  const text = facts(style, [
    ['from', from ? `checkpoint ${from.checkpoint}` : 'the beginning'],
    ['events', `${events} on ${count(pages, 'page')} of ${count(streams, 'stream')}`],
    ['executions', `${executions}, ${count(rows, 'row')} compared`],
    ['checkpoints', `${checkpoints}, the newest: ${newest}`],
    ['not yet covered', count(notYetCovered, 'page')],
    ...keys.map((key) => ['signed by', signerOf(key)] as const),
  ])
  const found = [...findings.map(describeFinding), ...(more > 0 ? [`and ${more} more`] : [])]
  return [text, ...found].join('\n')
}

function signerOf({ kid, checkpoints, streams }: JournalReport['keys'][number]): string {
  return `${kid} (${count(checkpoints, 'checkpoint')}, ${count(streams, 'stream')})`
}

/** One line. What it names may be what somebody wrote into the database. */
function describeFinding({ kind, ...place }: Finding): string {
  const where = Object.entries(place).map(([name, value]) => `${name} ${value}`)
  return escapeText(`${kind}: ${where.join(', ')}: ${findingKinds[kind]}`)
}

async function exportJournal(run: Run, { since }: { readonly since?: string }): Promise<Outcome> {
  const asked = since === undefined ? {} : { since: timeOf(since) }
  for await (const { lines } of journalOf(run.call, asked))
    await writeOut(run.world.stdout, lines.map((line) => `${line}\n`).join(''))
  return { json: undefined, text: '' }
}

function timeOf(text: string): string {
  const isTime = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:\d{2})?)?$/.test(text)
  if (!isTime || Number.isNaN(Date.parse(text)))
    throw usageFailure('--since takes a day (2026-11-01) or a time (2026-11-01T12:00:00Z).')
  return new Date(text).toISOString()
}
