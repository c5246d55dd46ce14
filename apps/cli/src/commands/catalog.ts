import type { Answer } from '@sallyport/protocol'
import type { Command } from 'commander'
import { describeCatalog, describeDiff } from '../print/catalog.ts'
import { cellText, count } from '../print/table.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { collect, group, verb, wholeNumber } from '../verb.ts'
import type { World } from '../world.ts'

export function addCatalogCommands(program: Command, world: World): void {
  const catalog = group(program, 'catalog', 'The reviewed tools of a connection')
  verb(catalog, {
    usage: 'discover <name>',
    description: 'Ask the server for its tools, into a new draft',
    example: 'sallyport catalog discover docs',
  }).action(perform(world, discover))
  verb(catalog, {
    usage: 'show <name>',
    description: 'Show the draft, else the published revision',
    example: 'sallyport catalog show docs --revision 1',
  })
    .option('--revision <n>', 'a revision by its number', wholeNumber)
    .action(perform(world, show))
  verb(catalog, {
    usage: 'diff <name>',
    description: 'What the server lists now, against the published revision',
    example: 'sallyport catalog diff docs',
  }).action(perform(world, diff))
  addReviewCommands(catalog, world)
}

function addReviewCommands(catalog: Command, world: World): void {
  verb(catalog, {
    usage: 'review <name>',
    description:
      'Decide about tools of the draft; a tool nobody decided about is a write and stays out',
    example: "sallyport catalog review docs --include '*' --read 'search_*'",
  })
    .option('--include <glob>', 'let tools in (repeatable)', collect)
    .option('--exclude <glob>', 'keep tools out (repeatable)', collect)
    .option('--read <glob>', 'tools that only read (repeatable)', collect)
    .option('--write <glob>', 'tools that change something (repeatable)', collect)
    .action(perform(world, review))
  verb(catalog, {
    usage: 'publish <name>',
    description: 'Publish the reviewed draft; it never changes afterwards',
    example: 'sallyport catalog publish docs',
  }).action(perform(world, publish))
  verb(catalog, {
    usage: 'withdraw <name>',
    description: 'Withdraw a revision: sessions that hold it are refused at once',
    example: 'sallyport catalog withdraw docs --revision 1',
  })
    .requiredOption('--revision <n>', 'its number', wholeNumber)
    .action(perform(world, withdraw))
}

async function discover(run: Run, name: string): Promise<Outcome> {
  const work = run.call('catalog.discover', { params: { name } })
  const answer = await run.during(`Listing the tools of ${cellText(name)}`, work)
  const next = `${count(answer.tools.length, 'tool')}. Next: sallyport catalog review ${cellText(name)} --include GLOB --read GLOB`
  return { json: answer, text: `${describeCatalog(run.style, answer)}\n\n${next}` }
}

async function show(run: Run, name: string, options: { revision?: number }): Promise<Outcome> {
  const answer = await run.call('catalog.show', {
    params: { name },
    query: { revision: options.revision?.toString() },
  })
  return { json: answer, text: describeCatalog(run.style, answer) }
}

async function diff(run: Run, name: string): Promise<Outcome> {
  const work = run.call('catalog.diff', { params: { name } })
  const answer = await run.during(`Comparing the tools of ${cellText(name)}`, work)
  return { json: answer, text: describeDiff(run.style, answer) }
}

interface ReviewOptions {
  readonly include?: string[]
  readonly exclude?: string[]
  readonly read?: string[]
  readonly write?: string[]
}

/** Without a decision it only shows what there is to decide. */
async function review(run: Run, name: string, options: ReviewOptions): Promise<Outcome> {
  const { include, exclude, read, write } = options
  const params = { name }
  const decides = [include, exclude, read, write].some((globs) => globs !== undefined)
  const answer = decides
    ? await run.call('catalog.review', {
        params,
        body: {
          ...(include ? { include } : {}),
          ...(exclude ? { exclude } : {}),
          ...(read ? { read } : {}),
          ...(write ? { write } : {}),
        },
      })
    : await run.call('catalog.show', { params })
  return { json: answer, text: `${describeCatalog(run.style, answer)}\n\n${reviewSummary(answer)}` }
}

function reviewSummary({ connection, tools }: Answer<'catalog.review'>): string {
  const included = tools.filter(({ state }) => state === 'include')
  const reads = included.filter(({ access }) => access === 'read')
  const out = tools.filter(({ state }) => state === 'exclude').map(({ name }) => cellText(name))
  const flagged = tools.filter(({ flags }) => flags.length > 0)
  return [
    `Included: ${included.length} (${reads.length} read, ${included.length - reads.length} write).`,
    `Not included: ${out.length === 0 ? 'none' : out.join(', ')}.`,
    ...(flagged.length ? [`Look at the ${count(flagged.length, 'flagged tool')}.`] : []),
    `Next: sallyport catalog publish ${cellText(connection)}`,
  ].join('\n')
}

async function publish(run: Run, name: string): Promise<Outcome> {
  const answer = await run.call('catalog.publish', { params: { name }, body: {} })
  const { connection, number, tools } = answer
  const included = tools.filter(({ state }) => state === 'include').length
  const text = `Published revision ${cellText(number)} of ${cellText(connection)} with ${count(included, 'tool')}.\nNext: sallyport connection enable ${cellText(connection)}`
  return { json: answer, text }
}

async function withdraw(run: Run, name: string, options: { revision: number }): Promise<Outcome> {
  const { revision } = options
  const answer = await run.call('catalog.withdraw', { params: { name }, body: { revision } })
  return {
    json: answer,
    text: `Revision ${revision} of ${cellText(answer.connection)} is withdrawn.`,
  }
}
