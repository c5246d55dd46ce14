import type { Answer, ProfileSettings, RequestBody } from '@sallyport/protocol'
import { isolationClasses } from '@sallyport/protocol'
import { type Command, Option } from 'commander'
import { count, facts, moment, table } from '../print/table.ts'
import { readText } from '../read-file.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { collect, group, hours, verb, wholeNumber } from '../verb.ts'
import type { World } from '../world.ts'
import { addGrantCommands, grantTable } from './grant.ts'
import { collectIsolation, type IsolationClass } from './isolation-option.ts'

export function addProfileCommands(program: Command, world: World): void {
  const profile = group(program, 'profile', 'Policies for sessions: which tools, under which rules')
  addCreate(profile, world)
  addGrantCommands(profile, world)
  verb(profile, {
    usage: 'list',
    description: 'List profiles',
    example: 'sallyport profile list',
  }).action(perform(world, listProfiles))
  verb(profile, {
    usage: 'show <profile>',
    description: 'Show a profile and its grants',
    example: 'sallyport profile show dev',
  }).action(perform(world, showProfile))
}

function addCreate(profile: Command, world: World): void {
  verb(profile, {
    usage: 'create <name>',
    description: 'Create a profile',
    example: 'sallyport profile create dev --isolation external --max-age 8',
  })
    .addOption(new Option('--interactive', 'a person is there to ask (default)'))
    .addOption(new Option('--unattended', 'nobody is there').conflicts('interactive'))
    .addOption(
      new Option(
        '--isolation <class>',
        `acceptable: ${isolationClasses.join(', ')} (repeatable)`,
      ).argParser(collectIsolation),
    )
    .option('--approval-ttl <s>', 'seconds until an approval expires', wholeNumber)
    .option('--hold <s>', 'seconds a call may be held open', wholeNumber)
    .option('--retain <days>', 'days that bodies are kept', wholeNumber)
    .option('--keep-reads', 'keep arguments and results of reads too, not only of writes')
    .option(
      '--actor <who>',
      'who may start sessions: a user, or role:R and above; everybody when none is named (repeatable)',
      collect,
    )
    .option(
      '--harness <h>',
      'agent program that may run, all when none is named (repeatable)',
      collect,
    )
    .option('--max-age <h>', 'hours until a session ends', hours)
    .option('--idle <h>', 'hours until an idle session ends', hours)
    .option('--verify-within <s>', 'seconds that a listing of tools counts as new', wholeNumber)
    .addOption(
      new Option('--personal <mode>', 'what personal connections may be granted for').choices([
        'none',
        'read',
        'write-with-approval',
      ]),
    )
    .option('--sandbox-policy <f>', 'file with the policy that is told to tools that ask')
    .action(perform(world, createProfile))
}

interface CreateOptions {
  readonly unattended?: true
  readonly isolation?: IsolationClass[]
  readonly approvalTtl?: number
  readonly hold?: number
  readonly retain?: number
  readonly keepReads?: true
  readonly actor?: string[]
  readonly harness?: string[]
  readonly maxAge?: number
  readonly idle?: number
  readonly verifyWithin?: number
  readonly personal?: string
  readonly sandboxPolicy?: string
}

async function createProfile(run: Run, name: string, options: CreateOptions): Promise<Outcome> {
  const answer = await run.call('profile.create', {
    body: { name, settings: await settingsOf(options) },
  })
  return { json: answer, text: describeProfile(run, answer) }
}

const secondsPerHour = 3600

/** Only what was given; the rest gets the API's defaults. */
async function settingsOf(
  options: CreateOptions,
): Promise<NonNullable<RequestBody<'profile.create'>['settings']>> {
  const { sandboxPolicy, maxAge, idle, personal } = options
  const given: { [K in keyof ProfileSettings]: ProfileSettings[K] | undefined } = {
    interactive: options.unattended ? false : undefined,
    isolation: options.isolation,
    actors: options.actor,
    harnesses: options.harness,
    approvalTtlSeconds: options.approvalTtl,
    holdSeconds: options.hold,
    retainDays: options.retain,
    keepReads: options.keepReads,
    maxAgeSeconds: maxAge === undefined ? undefined : Math.round(maxAge * secondsPerHour),
    idleSeconds: idle === undefined ? undefined : Math.round(idle * secondsPerHour),
    verifyWithinSeconds: options.verifyWithin,
    personal: personal?.replaceAll('-', '_') as ProfileSettings['personal'] | undefined,
    sandboxPolicy:
      sandboxPolicy === undefined ? undefined : await readText(sandboxPolicy, '--sandbox-policy'),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

async function listProfiles(run: Run): Promise<Outcome> {
  const answer = await run.call('profile.list', {})
  const rows = table(
    run.style,
    ['NAME', 'STATE', 'KIND', 'ISOLATION', 'GRANTS', 'CREATED'],
    answer.items.map((one) => [
      one.name,
      one.state,
      kindOf(one),
      one.settings.isolation.join(', '),
      one.grants.length,
      moment(one.createdAt),
    ]),
  )
  return { json: answer, text: `${rows}\n${count(answer.items.length, 'profile')}` }
}

async function showProfile(run: Run, name: string): Promise<Outcome> {
  const answer = await run.call('profile.show', { params: { name } })
  return { json: answer, text: describeProfile(run, answer) }
}

function kindOf(profile: Answer<'profile.show'>): string {
  return profile.settings.interactive ? 'interactive' : 'unattended'
}

function describeProfile(run: Run, profile: Answer<'profile.show'>): string {
  const { settings } = profile
  const head = facts(run.style, [
    ['name', profile.name],
    ['id', profile.id],
    ['state', profile.state],
    ['kind', kindOf(profile)],
    ['isolation', settings.isolation.join(', ')],
    ['may start it', settings.actors.join(', ') || 'administrators'],
    ['harnesses', settings.harnesses.join(', ') || 'any'],
    ['approval ttl', `${settings.approvalTtlSeconds} s`],
    ['hold', `${settings.holdSeconds} s`],
    [
      'retain',
      `${settings.retainDays} days, bodies of ${settings.keepReads ? 'all calls' : 'writes'}`,
    ],
    ['max age', `${settings.maxAgeSeconds / secondsPerHour} h`],
    ['idle', `${settings.idleSeconds / secondsPerHour} h`],
    ['verify within', `${settings.verifyWithinSeconds} s`],
    ['personal', settings.personal],
    ['sandbox policy', settings.sandboxPolicy === null ? 'none' : 'set'],
  ])
  return profile.grants.length
    ? `${head}\n\n${grantTable(run, profile.grants)}`
    : `${head}\n\nNo grants.`
}
