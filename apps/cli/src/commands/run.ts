/** `run`: an agent program, or any command, in a sandbox that was verified before it was let go. */
import { dirname, resolve } from 'node:path'
import {
  type AcpPermissions,
  acpPermissions,
  type Guest,
  type GuestReach,
  type GuestStdio,
  type HarnessAdapter,
  type ModelAccess,
  newChannelFolder,
  type PreparedHarness,
  type RunEnd,
  type RunEvent,
  runGuest,
  runtimeFolder,
  type SessionPort,
  terminalEnvironment,
} from '@sallyport/launcher'
import { sandboxClasses } from '@sallyport/protocol'
import { dataFolder } from '@sallyport/protocol/node'
import { type Command, Option } from 'commander'
import { AcpTalk, type TalkEnd } from '../acp/acp-talk.ts'
import { failure, toFailure, usageFailure } from '../failure.ts'
import { GuestExit } from '../guest-exit.ts'
import { cellText } from '../print/table.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { addReachOptions, type ReachOptions, readReach } from '../sandbox/guest-reach.ts'
import { type GuestSignals, guestSignals } from '../sandbox/guest-signals.ts'
import { carryStdio, guestStdio } from '../sandbox/guest-stdio.ts'
import { tidyTerminal } from '../sandbox/guest-terminal.ts'
import { harnesses, ownShim, type SandboxName, sandboxes } from '../sandbox/sandboxes.ts'
import { TerminalTitle } from '../sandbox/terminal-title.ts'
import { UnseenTools } from '../sandbox/unseen-tools.ts'
import { strict, verb } from '../verb.ts'
import type { World } from '../world.ts'

interface RunOptions extends ReachOptions {
  readonly profile?: string
  readonly workspace?: string
  readonly sandbox: SandboxName
  readonly continue?: string
  readonly label?: string
  readonly harnessPath?: string
  readonly workspaceSettings?: true
  readonly nested?: true
  readonly acpPermissions: AcpPermissions
  readonly acpModel?: string
  readonly json?: true
}

export function addRunCommand(
  program: Command,
  world: World,
  afterDashes: readonly string[] | undefined,
): void {
  const command = verb(program, {
    usage: 'run [harness] [command...]',
    description: 'Run an agent program, or any command after --, in a verified sandbox',
    example: 'sallyport run claude --profile dev -- -p "What is open?"',
  })
    .option(
      '--profile <p>',
      'profile of the session (default: the only one for this kind of sandbox)',
    )
    .option('--workspace <dir>', 'folder that the guest may write into (default: where you are)')
    .addOption(
      new Option('--sandbox <kind>', 'what separates the guest')
        .choices(sandboxClasses)
        .default('bubblewrap'),
    )
    .option('--continue <session>', 'an ended session that this one goes on from')
    .option('--label <text>', 'note for people')
    .option('--harness-path <file>', 'the agent program, when it is not the one in PATH')
    .option(
      '--workspace-settings',
      'let the agent program take servers, hooks and settings from the workspace too',
    )
    .option('--nested', 'let the guest make a sandbox of its own within')
  addAcpOptions(command)
  // Whoever gives the options of the agent program to us is told where they go.
  strict(command, 'What the guest is given comes after "--".')
  addReachOptions(command).action(
    perform(world, (run, first: string | undefined, more: string[], options: RunOptions) =>
      runHarness(run, wordsOf(first, more, afterDashes), options),
    ),
  )
}

function addAcpOptions(command: Command): void {
  command
    .addOption(
      new Option(
        '--acp-permissions <policy>',
        'what an ACP agent is told that asks whether it may: yes to the tools of the session and to what stays in the sandbox, else you are asked; or always ask; or always no',
      )
        .choices(acpPermissions)
        .default('allow-session-tools'),
    )
    .option('--acp-model <name>', 'the model that an ACP agent is to use (default: its own choice)')
}

interface Words {
  readonly harness: string
  readonly command: readonly string[]
}

/** Before the dashes at most the name of a harness, after them what it is given. */
function wordsOf(
  first: string | undefined,
  more: readonly string[],
  afterDashes: readonly string[] = [],
): Words {
  const all = first === undefined ? [] : [first, ...more]
  const [harness = 'generic', ...others] = all.slice(0, all.length - afterDashes.length)
  if (others.length > 0) throw usageFailure('What the guest is given comes after "--".')
  return { harness, command: afterDashes }
}

async function runHarness(run: Run, words: Words, options: RunOptions): Promise<Outcome> {
  const harness = harnessOf(words)
  const { reach, model } = await readReach(run, harness.provider, options)
  const channelFolder = newChannelFolder(runtimeFolder({ ...run.world.env }))
  const prepared = await prepare(run, harness, { words, options, model, channelFolder })
  const signals = guestSignals(run.world.signals)
  // Any command may do without.
  const tools = words.harness === 'generic' ? undefined : new UnseenTools(run)
  const title = new TerminalTitle(run, { unseen: () => tools?.count() })
  const running = { words, options, reach, prepared, channelFolder, signals, tools, title }
  try {
    const { end, talk } = await runInSandbox(run, running)
    tidyTerminal(run.world, end)
    return outcomeOf(end, talk, await tools?.end(end.session))
  } finally {
    tools?.stop()
    await title.end()
    signals.end()
  }
}

function harnessOf({ harness: name, command }: Words): HarnessAdapter {
  const harness = harnesses.get(name)
  if (!harness)
    throw usageFailure(
      'That agent program is not known.',
      `Known: ${[...harnesses.keys()].join(', ')}; any command runs after "--".`,
    )
  if (['generic', 'acp'].includes(name) && command.length === 0)
    throw usageFailure('There is no command.', 'Give it after "--".')
  return harness
}

interface Preparing {
  readonly words: Words
  readonly options: RunOptions
  readonly model: ModelAccess | undefined
  readonly channelFolder: string
}

async function prepare(
  { world }: Run,
  harness: HarnessAdapter,
  { words, options, model, channelFolder }: Preparing,
): Promise<PreparedHarness> {
  const environment = { ...world.env }
  const { sandbox: isolation, workspace = process.cwd(), harnessPath } = options
  const { acpModel: modelName, workspaceSettings, nested } = options
  const found = await harness.prepare({
    words: words.command,
    isolation,
    environment,
    shim: ownShim(),
    workspace,
    channelFolder,
    ...(harnessPath === undefined ? {} : { programPath: resolve(harnessPath) }),
    ...(workspaceSettings ? { workspaceSettings } : {}),
    ...(nested ? { nested } : {}),
    ...(modelName === undefined ? {} : { modelName }),
    ...(model ? { model } : {}),
  })
  return { ...found, environment: { ...terminalEnvironment(environment), ...found.environment } }
}

interface Running {
  readonly words: Words
  readonly options: RunOptions
  readonly reach: GuestReach | undefined
  readonly prepared: PreparedHarness
  readonly channelFolder: string
  readonly signals: GuestSignals
  readonly tools: UnseenTools | undefined
  readonly title: TerminalTitle
}

interface Ended {
  readonly end: RunEnd
  /** Of an agent that was spoken to by ACP. */
  readonly talk: TalkEnd | undefined
}

async function runInSandbox(run: Run, running: Running): Promise<Ended> {
  const { world } = run
  const { words, options, reach, prepared, channelFolder, signals, tools, title } = running
  const { sandbox, workspace = process.cwd(), continue: continues, label } = options
  let session = ''
  let carried = async (): Promise<void> => undefined
  let talk: AcpTalk | undefined
  const stuck = new AbortController()
  const told = (event: RunEvent): void => {
    tell(run, event, options)
    if (event.kind === 'created') session = event.session.id
    if (event.kind !== 'released') return
    tools?.begin(session)
    title.begin(session)
    talk = talkTo(run, event.guest, { running, session, giveUp: () => stuck.abort() })
    signals.passTo(talk ?? event.guest)
    carried = carryStdio(talk ? { ...pipes, stderr: event.guest.stderr } : event.guest, world)
  }
  const end = await runGuest({
    sandbox: sandboxes[sandbox](),
    port: portOf(run),
    session: {
      profile: options.profile ?? (await onlyProfile(run, sandbox)),
      harness: words.harness,
      ...(continues === undefined ? {} : { continues }),
      ...(label === undefined ? {} : { label }),
    },
    prepared,
    shim: ownShim(),
    ...(reach ? { reach } : {}),
    workspace,
    dataFolder: dataFolder(world.env),
    stdio: prepared.acp ? acpStdio() : guestStdio(),
    runtimeFolder: dirname(channelFolder),
    channelFolder,
    stop: AbortSignal.any([signals.stop, stuck.signal]),
    told,
  })
  await carried()
  return { end, talk: await talk?.ended }
}

/** Its stdin and stdout are ours: what it says there is read here. */
const acpStdio = (): GuestStdio => ['pipe', 'pipe', guestStdio()[2]]
const pipes = { stdin: null, stdout: null }

function talkTo(
  run: Run,
  guest: Guest,
  asked: { readonly running: Running; readonly session: string; readonly giveUp: () => void },
): AcpTalk | undefined {
  const { running, session, giveUp } = asked
  const { prepared, words, options } = running
  if (!prepared.acp) return undefined
  return new AcpTalk(run, guest, {
    start: prepared.acp,
    session,
    policy: options.acpPermissions,
    words: words.harness === 'acp' ? [] : words.command,
    giveUp,
  })
}

/** Soon enough to be heard again within the time after which an owner counts as lost. */
const heartbeatWithin = 3_000

function portOf(run: Run): SessionPort {
  return {
    create: (body) => run.call('session.create', { body }),
    show: (id, body) => run.call('session.evidence', { params: { id }, body }),
    hear: (id, body) =>
      run.call('session.heartbeat', { params: { id }, body }, { within: heartbeatWithin }),
    denySet: (id) => run.call('session.denySet', { params: { id } }),
    confirm: (id, body) => run.call('session.confirmDenySet', { params: { id }, body }),
    end: (id, body) => run.call('session.end', { params: { id }, body }),
  }
}

async function onlyProfile(run: Run, sandbox: SandboxName): Promise<string> {
  const { items } = await run.call('profile.list', {})
  const fitting = items.filter(
    ({ state, settings }) => state === 'active' && settings.isolation.includes(sandbox),
  )
  const [profile] = fitting
  if (profile && fitting.length === 1) return profile.name
  throw usageFailure(
    fitting.length === 0
      ? 'No profile accepts this kind of sandbox.'
      : 'Several profiles accept this kind of sandbox.',
    'Name one with --profile; "sallyport profile list" shows them.',
  )
}

/** Only to a person: what the guest writes to its terminal is its own. */
function tell({ world, style }: Run, event: RunEvent, { json, sandbox }: RunOptions): void {
  if (event.kind === 'unresolved')
    world.stderr.write(`The sandbox is still there: ${cellText(event.reason)}. Trying again.\n`)
  if (event.kind !== 'created' || json || world.stderr.isTTY !== true) return
  const what = sandbox === 'none' ? 'not separated from this machine' : `sandbox: ${sandbox}`
  world.stderr.write(`${style.strong(event.session.id)} (${what})\n`)
}

/** Ends of others than the guest are failures, whatever the guest then ended with. */
function outcomeOf(
  { session, code, reason }: RunEnd,
  talk: TalkEnd | undefined,
  unseen: readonly string[] | undefined,
): Outcome {
  const { stopReason, error } = talk ?? {}
  const answer = {
    id: session,
    code,
    reason,
    ...(unseen ? { unseen } : {}),
    ...(stopReason === undefined ? {} : { stopReason }),
  }
  const isOwn = ['guest_ended', 'guest_killed', 'launcher_stopped'].includes(reason)
  const problem = isOwn ? undefined : failure('session_ended', { next: `Its reason: ${reason}.` })
  return {
    json: answer,
    text: '',
    failure: problem ?? talkProblem(stopReason, error) ?? new GuestExit(code),
  }
}

/** Undefined when the agent did what it was asked, or was asked nothing. */
function talkProblem(stopReason: string | undefined, error: unknown): Outcome['failure'] {
  if (error !== undefined) return toFailure(error)
  if (stopReason === 'cancelled') return new GuestExit(130)
  return stopReason === undefined || stopReason === 'end_turn' ? undefined : new GuestExit(1)
}
