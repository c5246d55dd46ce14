import type { Answer } from '@sallyport/protocol'
import type { Command } from 'commander'
import { cellText, count, table } from '../print/table.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { group, verb } from '../verb.ts'
import type { World } from '../world.ts'

export function addDeniedCommands(program: Command, world: World): void {
  const denied = group(program, 'denied', 'What guests must never reach by themselves')
  verb(denied, {
    usage: 'list',
    description: 'Show the deny set: places of connections, our own, and what was added',
    example: 'sallyport denied list',
  }).action(perform(world, async (run) => described(run, await run.call('denySet.show', {}))))
  verb(denied, {
    usage: 'add <place...>',
    description:
      'Deny a name, *.name, an address or a network, each with :PORT or without; waits until every sandbox has confirmed',
    example: 'sallyport denied add intranet.example.com "*.corp.example.com" 10.0.0.0/8',
  }).action(perform(world, (run, places: string[]) => edit(run, { add: places })))
  verb(denied, {
    usage: 'remove <place...>',
    description: 'Take back what was added; sandboxes that run keep it denied until they end',
    example: 'sallyport denied remove intranet.example.com',
  }).action(perform(world, (run, places: string[]) => edit(run, { remove: places })))
}

async function edit(
  run: Run,
  body: { readonly add?: string[]; readonly remove?: string[] },
): Promise<Outcome> {
  const work = run.call('denySet.edit', { body })
  return described(run, await run.during('Waiting for sandboxes to confirm', work))
}

type State = Answer<'denySet.show'>

/** One line of the list. */
interface DeniedPlace {
  /** As `add` and `remove` take it. */
  readonly id: string
  readonly state: 'in_force' | 'pending'
  readonly host: string
  readonly port: number | null
  /** Whether it was added by hand, and can be taken back so. */
  readonly added: boolean
}

function placesOf({ entries, operator, pending }: State): DeniedPlace[] {
  const [added, waiting] = [operator, pending].map((places) => new Set(places.map(nameOf)))
  return entries.map((entry) => {
    const id = nameOf(entry)
    const state = waiting?.has(id) ? 'pending' : 'in_force'
    return { id, state, ...entry, added: added?.has(id) ?? false }
  })
}

function described({ style }: Run, state: State): Outcome {
  const { revision, inForce, digest } = state
  const items = placesOf(state)
  const rows = table(
    style,
    ['PLACE', 'STATE', 'BECAUSE'],
    items.map((place) => [
      cellText(place.id),
      place.state === 'pending' ? 'pending' : 'in force',
      place.added ? 'added' : 'a connection, or our own',
    ]),
  )
  const waiting =
    inForce < revision ? `; sandboxes that run have confirmed revision ${inForce}` : ''
  return {
    json: { items, revision, inForce, digest },
    text: `${rows}\n${count(items.length, 'place')}, revision ${revision}${waiting}`,
  }
}

function nameOf({ host, port }: State['entries'][number]): string {
  if (port === null) return host
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
