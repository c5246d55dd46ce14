/** The steps of a call at which processes are killed, by the process that takes them, and who is killed there. */
import type { Random } from '../system/random.ts'
import type { Phase, Plan, Role } from './preload/step-book.ts'

export interface StepKill extends Pick<Plan, 'role' | 'step' | 'phase' | 'victims'> {
  /** What has to happen first so that the step is taken at all. */
  readonly after: StepKill | undefined
  /** The step comes so seldom that it is its first time that counts. */
  readonly isRare: boolean
}

export interface MomentKill {
  readonly victims: readonly Role[]
  /** The gateway is killed once more while it starts. */
  readonly whileStarting: boolean
}

export type Kill = StepKill | MomentKill

interface Named {
  readonly role: Role
  readonly step: string
  readonly after: StepKill | undefined
}

const of = (role: Role, steps: readonly string[], after?: StepKill): Named[] =>
  steps.map((step) => ({ role, step, after }))

const killAt = (role: Role, step: string, phase: Phase): StepKill => ({
  ...{ role, step, phase, after: undefined },
  isRare: true,
  victims: [role],
})
/** A gateway that dies now leaves what it has sent to the next one; a worker takes with it what came of it. */
const leftBehind = killAt('gateway', 'worker<committed', 'after')
const lostForGood = killAt('worker', 'upstream>answer', 'before')

const statements = [
  // A call arrives and waits for a person.
  'execution+awaiting_approval',
  'approval+pending',
  'body+arguments',
  'journal+',
  'commit(ask)',
  // A person decides.
  'approval→approved',
  'execution→approved',
  'commit(decision)',
  // The barrier, for what waited and for what needs nobody.
  'begin',
  'read settings',
  'read connections',
  'read catalogs',
  'read profiles',
  'read grants',
  'read sessions',
  'read approvals',
  'read executions',
  'read instances',
  'execution→dispatching',
  'execution+dispatching',
  'approval→consumed',
  'commit(barrier)',
  // The outcome.
  'execution→succeeded',
  'body+result',
  'commit(outcome)',
  // Whoever asked leaves, comes again, has its answer.
  'caller→detached',
  'caller→held_back',
  'commit(leaving)',
  'caller→attached',
  'commit(take-over)',
  'caller→collected',
  'commit(collection)',
]
/** The embedded database commits first and flushes then. */
const flushes = ['flush(ask)', 'flush(decision)', 'flush(barrier)']
const afterGateway = ['claim', 'commit(claim)', 'worker<recover', 'worker>recovered']
const afterWorker = [
  'execution→unknown',
  'commit(unknown)',
  'execution→resolved',
  'commit(resolution)',
]
const wire = [
  'worker<intents',
  'worker<body',
  'worker<committed',
  'worker>result',
  'worker<settled',
]

export type Engine = 'sqlite' | 'postgres'

const namedSteps = (engine: Engine): readonly Named[] => [
  ...of('gateway', [...statements, ...wire, 'guest<answer']),
  ...of('gateway', engine === 'sqlite' ? flushes : ['hold keys']),
  ...of('gateway', afterGateway, leftBehind),
  ...of('gateway', afterWorker, lostForGood),
  ...of('worker', ['gateway>intents', 'gateway>committed', 'upstream:connect', 'upstream<call']),
  ...of('worker', ['upstream>answer', 'gateway<result', 'gateway>settled']),
  ...of('worker', ['gateway>recover', 'gateway<recovered'], leftBehind),
  ...of('upstream', ['effect', 'worker<answer']),
]

const rare: ReadonlySet<string> = new Set(['upstream:connect', 'caller→attached'])

const phases: readonly Phase[] = ['before', 'after']
/** Who else may die at a step of a process. */
const others: Readonly<Record<Role, readonly (readonly Role[])[]>> = {
  gateway: [['worker'], ['gateway', 'worker'], ['gateway', 'upstream']],
  worker: [['gateway'], ['gateway', 'worker'], ['upstream']],
  upstream: [['gateway'], ['worker'], ['gateway', 'worker', 'upstream']],
}

/** Every step, before and after it. `own`: the process that takes it dies; else others, picked for each. */
export function stepKills(engine: Engine, who: 'own' | Random): StepKill[] {
  return namedSteps(engine).flatMap(({ role, step, after }) =>
    phases.map((phase) => ({
      ...{ role, step, phase, after },
      isRare: after !== undefined || rare.has(step),
      victims: who === 'own' ? [role] : who.pick(others[role]),
    })),
  )
}

export const shuffled = <T>(all: readonly T[], random: Random): T[] =>
  all
    .map((one) => ({ one, place: random.next() }))
    .sort((a, b) => a.place - b.place)
    .map(({ one }) => one)

const sometimes: readonly MomentKill[] = [
  ...(['gateway', 'gateway', 'gateway', 'worker', 'upstream'] as const).map((one) => ({
    victims: [one],
    whileStarting: false,
  })),
  { victims: ['gateway'], whileStarting: true },
  { victims: ['gateway', 'worker'], whileStarting: false },
  { victims: ['gateway', 'worker'], whileStarting: true },
]

export const momentKills = (count: number, random: Random): MomentKill[] =>
  Array.from({ length: count }, () => random.pick(sometimes))

export function nameOf(kill: Kill): string {
  const victims = kill.victims.join(' and ')
  if (!('step' in kill))
    return `at some moment${kill.whileStarting ? ', and while it starts' : ''}: ${victims}`
  return `${kill.phase} ${kill.step} of the ${kill.role}: ${victims}`
}
