import { resolve } from 'node:path'
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
    .option('--continue <session>', 'an ended session that this one goes on from')
    .option('--socket <path>', 'make a Unix socket for this guest alone, beside the endpoint')
    .option('--relay <dir>', 'make a folder for a guest that has only files')
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

type CreateOptions = Omit<RequestBody<'session.create'>, 'continues'> & {
  readonly continue?: string
  readonly tokenFile?: string
}

async function createSession(run: Run, options: CreateOptions): Promise<Outcome> {
  const { profile, isolation, label, owner, harness, continue: continues, tokenFile } = options
  const [socket, relay] = [options.socket, options.relay].map((path) => path && resolve(path))
  const body = {
    profile,
    ...(isolation === undefined ? {} : { isolation }),
    ...(label === undefined ? {} : { label }),
    ...(owner === undefined ? {} : { owner }),
    ...(harness === undefined ? {} : { harness }),
    ...(continues === undefined ? {} : { continues }),
    ...(socket ? { socket } : {}),
    ...(relay ? { relay } : {}),
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

type Created = Omit<Answer<'session.create'>, 'token' | 'denySet'>

function describeCreated(run: Run, created: Created): string {
  return [
    facts(run.style, [
      ['id', created.id],
      ['state', created.state],
      ['endpoint', created.endpoint],
      ['socket', created.socket],
      ['relay', created.relay],
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
  const answer = await run.call('session.end', { params: { id }, body: {} })
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

function directAccess({
  revision,
  confirmed,
  directAccess: access,
}: NonNullable<Answer<'session.show'>['denySet']>): string {
  if (access === 'not_denied') return 'not denied: nobody keeps the guest from what is denied'
  const isBehind = confirmed !== null && confirmed < revision
  return isBehind ? `denied; revision ${revision} is on its way` : 'denied'
}

/** Without walls there is nothing to be within. */
const mayNest = ({ isolation, sandbox }: Answer<'session.show'>): boolean =>
  isolation !== 'none' && sandbox?.nesting === true

/** Nothing for a guest that reaches nobody. */
function reachFacts(sandbox: Answer<'session.show'>['sandbox']): [string, string | undefined][] {
  const { model = null, modelKey = null, hosts = [] } = sandbox?.reach ?? {}
  return [
    ['model', model ?? undefined],
    ['model key', modelKey ?? undefined],
    ['hosts', hosts.length > 0 ? hosts.join(', ') : undefined],
  ]
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
    ['continues', one.continues ?? undefined],
    ['created', one.createdAt],
    ['expires', one.expiresAt],
    ['ended', one.endedAt],
    ['reason', one.endReason],
    ['endpoint', one.endpoint],
    ['direct access', one.denySet ? directAccess(one.denySet) : undefined],
    ['own sandbox', mayNest(one) ? 'the guest may make one within' : undefined],
    ...reachFacts(one.sandbox),
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
