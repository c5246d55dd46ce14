import type { Answer, GrantLimits, RequestBody } from '@sallyport/protocol'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { failure } from '../failure.ts'
import { asciiJson } from '../print/ascii-json.ts'
import { cellText, count, table } from '../print/table.ts'
import { readJson } from '../read-file.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { verb } from '../verb.ts'
import type { World } from '../world.ts'
import { collectIsolation } from './isolation-option.ts'

const modeChoices = ['read', 'write-with-approval', 'write-unattended'] as const

export function addGrantCommands(profile: Command, world: World): void {
  verb(profile, {
    usage: 'grant <profile> <connection> <tool-glob>',
    description: 'Grant published tools; the glob is expanded once, and what it gave is printed',
    example: "sallyport profile grant dev docs 'search_*' --mode read",
  })
    .addOption(
      new Option('--mode <mode>', 'how they may be called')
        .choices(modeChoices)
        .makeOptionMandatory(),
    )
    .option('--limit <schema.json>', 'JSON Schema 2020-12 that the arguments must pass as well')
    .option('--fixed <args.json>', 'arguments that the grant sets and the agent cannot')
    .option('--rate <n/seconds>', 'at most n calls in so many seconds', rate)
    .addOption(new Option('--approvers <who>', 'owner, two, or role:R').argParser(approvers))
    .option('--exclude-requester', 'the owner of the session may not approve')
    .option('--identical-only', 'an unknown outcome of the tool holds up the same call only')
    .option(
      '--isolation <class>',
      'only in such sessions (repeatable); to write without a sandbox it has to be none',
      collectIsolation,
    )
    .option('--yes', 'confirm --mode write-unattended')
    .action(perform(world, grantTools))
  verb(profile, {
    usage: 'revoke <profile> <connection> <tool-glob>',
    description: 'Take grants back; running sessions lose the tools at once',
    example: "sallyport profile revoke dev docs '*'",
  }).action(perform(world, revokeTools))
}

function rate(value: string): NonNullable<GrantLimits['rate']> {
  const [, calls, seconds] = /^([1-9]\d{0,8})\/([1-9]\d{0,8})$/.exec(value) ?? []
  if (!calls || !seconds) throw new InvalidArgumentError('Write it as N/SECONDS, such as 10/60.')
  return { count: Number(calls), seconds: Number(seconds) }
}

function approvers(value: string): string {
  if (!/^(?:owner|two|role:[a-z]+)$/.test(value))
    throw new InvalidArgumentError('Write owner, two, or role:R.')
  return value
}

interface GrantOptions {
  readonly mode: (typeof modeChoices)[number]
  readonly limit?: string
  readonly fixed?: string
  readonly rate?: NonNullable<GrantLimits['rate']>
  readonly approvers?: string
  readonly excludeRequester?: true
  readonly identicalOnly?: true
  readonly isolation?: NonNullable<GrantLimits['isolation']>
  readonly yes?: true
}

async function grantTools(
  run: Run,
  profile: string,
  connection: string,
  glob: string,
  options: GrantOptions,
): Promise<Outcome> {
  const limits = await limitsOf(options)
  const confirmUnattended = options.mode === 'write-unattended'
  if (confirmUnattended && !options.yes) await confirm(run, `${profile}: ${connection} ${glob}`)
  const mode = options.mode.replaceAll('-', '_') as RequestBody<'profile.grant'>['mode']
  const answer = await run.call('profile.grant', {
    params: { name: profile },
    body: { connection, tools: glob, mode, limits, confirmUnattended },
  })
  return { json: answer, text: describe(run, answer.items, `granted to ${profile}`) }
}

/** Such a tool acts without anybody looking: the administrator says so twice. */
async function confirm(run: Run, what: string): Promise<void> {
  const question = `Let agents call these tools with nobody asked? ${cellText(what)}`
  const agreed = await run.ask(question)
  if (agreed) return
  throw failure('not_confirmed', agreed === undefined ? { next: 'Add --yes.' } : {})
}

async function limitsOf(options: GrantOptions): Promise<GrantLimits> {
  const schema = options.limit === undefined ? undefined : await readJson(options.limit, '--limit')
  const fixed = options.fixed === undefined ? undefined : await readJson(options.fixed, '--fixed')
  if (fixed !== undefined && !isObject(fixed))
    throw failure('bad_file', { field: '--fixed', next: 'It must be a JSON object.' })
  return {
    ...(schema === undefined ? {} : { schema: schema as NonNullable<GrantLimits['schema']> }),
    ...(fixed === undefined ? {} : { fixed }),
    ...(options.rate === undefined ? {} : { rate: options.rate }),
    ...(options.approvers === undefined ? {} : { approvers: options.approvers }),
    ...(options.excludeRequester ? { excludeRequester: true } : {}),
    ...(options.identicalOnly ? { identicalOnly: true } : {}),
    ...(options.isolation === undefined ? {} : { isolation: options.isolation }),
  }
}

function isObject(value: unknown): value is NonNullable<GrantLimits['fixed']> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

async function revokeTools(
  run: Run,
  profile: string,
  connection: string,
  glob: string,
): Promise<Outcome> {
  const answer = await run.call('profile.revoke', {
    params: { name: profile },
    body: { connection, tools: glob },
  })
  return { json: answer, text: describe(run, answer.items, `taken back from ${profile}`) }
}

type Grants = Answer<'profile.grant'>['items']

function describe(run: Run, grants: Grants, what: string): string {
  return `${grantTable(run, grants)}\n${count(grants.length, 'tool')} ${cellText(what)}`
}

export function grantTable({ style }: Run, grants: Grants): string {
  return table(
    style,
    ['TOOL', 'STATE', 'CONNECTION', 'MODE', 'LIMITS', 'ID'],
    grants.map((one) => [
      one.tool,
      one.state,
      one.connection,
      one.mode,
      limitText(one.limits),
      one.id,
    ]),
  )
}

function limitText(limits: GrantLimits): string {
  return Object.keys(limits).length === 0 ? '' : asciiJson(limits)
}
