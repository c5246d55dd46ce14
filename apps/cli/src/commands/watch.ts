import type { Command } from 'commander'
import { usageFailure } from '../failure.ts'
import { asciiJson } from '../print/ascii-json.ts'
import { writeOut } from '../print/write-out.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { verb } from '../verb.ts'
import { followApprovals, type News } from '../watch/follow.ts'
import { watchOnScreen } from '../watch/watch-screen.ts'
import type { World } from '../world.ts'

export function addWatchCommand(approvals: Command, world: World): void {
  verb(approvals, {
    usage: 'watch',
    description:
      'See approvals as they come, and decide; with --json one JSON text a line for each change',
    example: 'sallyport approvals watch',
  })
    .option('--quiet', 'no bell when a new one comes')
    .action(perform(world, watch))
}

async function watch(run: Run, options: { json?: true; quiet?: true }): Promise<Outcome> {
  if (options.json) await watchAsLines(run)
  else if (isScreen(run.world)) await watchOnScreen(run, options.quiet === true)
  else
    throw usageFailure(
      'approvals watch needs a terminal',
      'Use "sallyport approvals list --json", or "sallyport approvals watch --json".',
    )
  return { json: undefined, text: '' }
}

function isScreen({ stdin, stdout, env }: World): boolean {
  return stdin.isTTY === true && stdout.isTTY === true && env.TERM !== 'dumb'
}

async function watchAsLines(run: Run): Promise<void> {
  let isAway = false
  for await (const news of followApprovals(run, new AbortController().signal)) {
    const lines = linesOf(news)
    if (isAway && news.kind === 'seen') lines.unshift({ event: 'reachable' })
    isAway = news.kind === 'unreachable'
    for (const line of lines) await writeOut(run.world.stdout, `${asciiJson(line)}\n`)
  }
}

function linesOf(news: News): object[] {
  if (news.kind === 'unreachable')
    return [{ event: 'unreachable', code: news.failure.code, againInMs: news.againInMs }]
  return [
    ...news.approvals.map((approval) => ({ event: 'approval', approval })),
    ...news.gone.map((id) => ({ event: 'gone', id })),
  ]
}
