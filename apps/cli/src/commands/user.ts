import { type Answer, type Role, roles } from '@sallyport/protocol'
import { type Command, Option } from 'commander'
import { count, moment, table } from '../print/table.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { group, verb } from '../verb.ts'
import type { World } from '../world.ts'

export function addUserCommands(program: Command, world: World): void {
  const user = group(program, 'user', 'People and their roles')
  verb(user, {
    usage: 'add <name>',
    description: 'Add a person',
    example: 'sallyport user add ada --role member',
  })
    .addOption(
      new Option('--role <role>', 'what the person may do').choices(roles).makeOptionMandatory(),
    )
    .action(perform(world, addUser))
  verb(user, { usage: 'list', description: 'List people', example: 'sallyport user list' }).action(
    perform(world, listUsers),
  )
  verb(user, {
    usage: 'disable <name>',
    description: 'Disable a person: sessions end, tokens are revoked',
    example: 'sallyport user disable ada',
  }).action(perform(world, disableUser))
}

async function addUser(run: Run, name: string, { role }: { role: Role }): Promise<Outcome> {
  const answer = await run.call('user.create', { body: { name, role } })
  return { json: answer, text: rows(run, [answer]) }
}

async function listUsers(run: Run): Promise<Outcome> {
  const answer = await run.call('user.list', {})
  const { items } = answer
  return { json: answer, text: `${rows(run, items)}\n${count(items.length, 'person', 'people')}` }
}

async function disableUser(run: Run, name: string): Promise<Outcome> {
  const answer = await run.call('user.disable', { params: { name } })
  return { json: answer, text: rows(run, [answer]) }
}

function rows({ style }: Run, users: readonly Answer<'user.create'>[]): string {
  return table(
    style,
    ['NAME', 'STATE', 'ROLE', 'CREATED', 'ID'],
    users.map((one) => [one.name, one.state, one.role, moment(one.createdAt), one.id]),
  )
}
