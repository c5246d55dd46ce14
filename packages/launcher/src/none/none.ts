/**
 * No sandbox: a process of this user, with the files, the network and the neighbours this user has. Asked for by name,
 * recorded as such. It has the gate, an environment of its own and no descriptor of ours; that is all.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { SallyportError, type SandboxPlan } from '@sallyport/protocol'
import { digestOf } from '@sallyport/protocol/node'
import { admitFolder } from '../guest/admit-folder.ts'
import { checkEnvironment, type Environment } from '../guest/environment.ts'
import { gateWords } from '../guest/gate.ts'
import { HeldGuest } from '../guest/held-guest.ts'
import { guestLimits } from '../guest/limits.ts'
import { plannedDescriptors } from '../guest/planned-descriptors.ts'
import { abandon, spawnGate } from '../guest/spawn-gate.ts'
import { bornProcess, bornProcesses } from '../process/born-process.ts'
import { ownUser } from '../process/own-user.ts'
import { markName, membersOf } from '../process/session-members.ts'
import type { Guest, GuestFile, GuestSpec, PlannedGuest, Sandbox } from '../sandbox.ts'

interface NoneGuest extends PlannedGuest {
  readonly workspace: string
  readonly environment: Environment
  readonly words: readonly string[]
}

export function noSandbox(): Sandbox {
  const planned = new WeakMap<PlannedGuest, NoneGuest>()
  return {
    isolation: 'none',
    lacks: async () =>
      process.platform === 'linux' ? undefined : `Guests are looked at in /proc, which Linux has.`,
    plan: (spec) => {
      const guest = planGuest(spec)
      planned.set(guest, guest)
      return guest
    },
    create: (guest, files = []) => {
      const known = planned.get(guest)
      if (!known) throw new TypeError('a guest that was not planned here')
      return createGuest(known, files)
    },
  }
}

function planGuest(spec: GuestSpec): NoneGuest {
  checkEnvironment(spec.environment)
  // Nothing can be kept from its sight here.
  if (spec.covered?.length) throw new SallyportError('not_enforceable', { field: 'sandbox' })
  const workspace = admitFolder(spec.workspace, spec.dataFolder, 'workspace')
  const environment = {
    ...ownEnvironment(process.env),
    // What the shell that closes descriptors cannot but set.
    SHLVL: '0',
    ...spec.environment,
    // By it those are found that left the process group.
    [markName]: randomBytes(16).toString('hex'),
  }
  const { processes, openFiles } = guestLimits(spec)
  const limits = { processes, openFiles }
  const words = [...gateWords({ limits, place: 'group' }), ...spec.command]
  const user = ownUser()
  const plan: SandboxPlan = {
    version: 1,
    isolation: 'none',
    command: digestOf(words),
    environment: Object.keys(environment).sort(),
    user: { uid: user.hostUid, gid: user.hostGid, ...user },
    namespaces: [],
    nesting: true,
    network: 'shared',
    mounts: [],
    descriptors: plannedDescriptors(spec.stdio),
    seccomp: null,
    limits: null,
    ...(spec.reach === undefined ? {} : { reach: spec.reach }),
  }
  return { spec, plan, workspace, environment, words }
}

/** Without a view of its own the guest has them in the run's own folder, which goes with the run. */
function putFiles(files: readonly GuestFile[], channel: string | undefined): void {
  for (const { at, text } of files) {
    if (channel === undefined || relative(channel, at).startsWith('..'))
      throw new TypeError('without a sandbox files have a place in the channel alone')
    mkdirSync(dirname(at), { recursive: true, mode: 0o700 })
    writeFileSync(at, text, { flag: 'wx', mode: 0o600 })
  }
}

function ownEnvironment(own: Readonly<Record<string, string | undefined>>): Environment {
  const passed = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL']
  return Object.fromEntries(
    passed.flatMap((name) => {
      const value = own[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

async function createGuest(
  { spec, plan, workspace, environment, words }: NoneGuest,
  files: readonly GuestFile[],
): Promise<Guest> {
  putFiles(files, spec.channel)
  const held = await spawnGate({
    words,
    environment,
    stdio: spec.stdio,
    folder: workspace,
    inputs: new Map(),
    status: undefined,
    passed: new Map(),
  })
  const pid = held.child.pid
  const process = pid === undefined ? undefined : bornProcess(pid)
  if (!process) {
    await abandon(held.child)
    throw new SallyportError('sandbox_failed', { cause: 'it has ended' })
  }
  const mark = environment[markName] ?? ''
  return new HeldGuest({
    plan,
    process,
    held,
    isGuarded: true,
    channel: spec.channel,
    members: (isFirstRunning) =>
      bornProcesses(membersOf({ session: isFirstRunning ? process.pid : undefined, mark })),
  })
}
