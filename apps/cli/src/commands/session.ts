import { type Answer, isolationClasses, type RequestBody, sessionStates } from '@sallyport/protocol'
import { type Command, Option } from 'commander'
import { count, facts, moment, table } from '../print/table.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { intoSecretFile } from '../secret-file.ts'
import { group, verb } from '../verb.ts'
import type { World } from '../world.ts'

const exampleId = 'ses_01jd0000000000000000000000'

export function addSessionCommands(program: Command, world: World): void {
  const session = group(program, 'session', 'Runs of an agent in a sandbox')
  verb(session, {
    usage: 'create',
    description: 'Open a session; with class external you vouch for the sandbox, which is recorded',
    example: 'sallyport session create --profile dev --isolation external --token-file dev.token',
  })
    .requiredOption('--profile <p>', 'profile of the session')
    .addOption(
      new Option('--isolation <class>', 'what separates the guest')
        .choices(isolationClasses)
        .default('external'),
    )
    .option('--label <text>', 'note for people')
    .option('--owner <name>', 'person it belongs to (default: you)')
    .option('--harness <h>', 'agent program, when the profile names which may run')
    .option('--token-file <f>', 'make this file (0600) for the token instead of printing it')
    .action(perform(world, createSession))
  verb(session, {
    usage: 'list',
    description: 'List sessions',
    example: 'sallyport session list --state open',
  })
    .addOption(new Option('--state <state>', 'only those in a state').choices(sessionStates))
    .action(perform(world, listSessions))
  verb(session, {
    usage: 'show <id>',
    description: 'Show a session and its tools',
    example: `sallyport session show ${exampleId}`,
  }).action(perform(world, showSession))
  verb(session, {
    usage: 'end <id>',
    description: 'End a session',
    example: `sallyport session end ${exampleId}`,
  }).action(perform(world, endSession))
}

type CreateOptions = RequestBody<'session.create'> & { readonly tokenFile?: string }

async function createSession(run: Run, options: CreateOptions): Promise<Outcome> {
  const { profile, isolation, label, owner, harness, tokenFile } = options
  const body = {
    profile,
    ...(isolation === undefined ? {} : { isolation }),
    ...(label === undefined ? {} : { label }),
    ...(owner === undefined ? {} : { owner }),
    ...(harness === undefined ? {} : { harness }),
  }
  const create = () => run.call('session.create', { body })
  if (tokenFile === undefined) {
    const answer = await create()
    const told = describeCreated(run, answer)
    return { json: answer, text: `${told}\n${facts(run.style, [['token', answer.token]])}` }
  }
  const created = await intoSecretFile(tokenFile, '--token-file', async () => {
    const { token, ...value } = await create()
    return { secret: token, value }
  })
  return {
    json: { ...created, tokenFile },
    text: `${describeCreated(run, created)}\n${facts(run.style, [['token', `in ${tokenFile}`]])}`,
  }
}

type Created = Omit<Answer<'session.create'>, 'token'>

function describeCreated(run: Run, created: Created): string {
  return [
    facts(run.style, [
      ['id', created.id],
      ['state', created.state],
      ['endpoint', created.endpoint],
    ]),
    ...toolLines(run, created),
  ].join('\n')
}

function toolLines({ style }: Run, { connections, unavailable }: Created): string[] {
  const lines = connections.length
    ? [
        table(
          style,
          ['CONNECTION', 'TOOLS', 'ENDPOINT'],
          connections.map((one) => [one.name, one.tools, one.endpoint]),
        ),
      ]
    : ['No tools.']
  if (unavailable.length)
    lines.push(
      table(
        style,
        ['NOT AVAILABLE', 'TOOL', 'CODE', 'REASON'],
        unavailable.map((one) => [one.connection, one.tool, one.code, one.reason]),
      ),
    )
  return lines
}

async function listSessions(run: Run, { state }: { state?: string }): Promise<Outcome> {
  const answer = await run.call('session.list', { query: { state } })
  const { items } = answer
  return { json: answer, text: `${rows(run, items)}\n${count(items.length, 'session')}` }
}

async function endSession(run: Run, id: string): Promise<Outcome> {
  const answer = await run.call('session.end', { params: { id } })
  return { json: answer, text: rows(run, [answer]) }
}

function rows({ style }: Run, sessions: readonly Answer<'session.show'>[]): string {
  return table(
    style,
    ['ID', 'STATE', 'PROFILE', 'OWNER', 'ISOLATION', 'TOOLS', 'CREATED', 'LABEL'],
    sessions.map((one) => [
      one.id,
      one.state,
      one.profile,
      one.owner,
      one.isolation,
      one.tools.length,
      moment(one.createdAt),
      one.label,
    ]),
  )
}

async function showSession(run: Run, id: string): Promise<Outcome> {
  const one = await run.call('session.show', { params: { id } })
  const head = facts(run.style, [
    ['id', one.id],
    ['state', one.state],
    ['profile', one.profile],
    ['owner', one.owner],
    ['isolation', one.isolation],
    ['label', one.label],
    ['created', one.createdAt],
    ['expires', one.expiresAt],
    ['ended', one.endedAt],
    ['reason', one.endReason],
    ['endpoint', one.endpoint],
  ])
  const tools = table(
    run.style,
    ['TOOL', 'STATE', 'MODE', 'CONNECTION', 'UPSTREAM NAME'],
    one.tools.map((tool) => [tool.name, tool.state, tool.mode, tool.connection, tool.tool]),
  )
  return {
    json: one,
    text: [head, ...toolLines(run, one), ...(one.tools.length ? [tools] : [])].join('\n\n'),
  }
}
