import { dataFolder } from '@sallyport/protocol/node'
import type { Command } from 'commander'
import { checkCertificates } from '../doctor/certificates.ts'
import { checkDataFolder } from '../doctor/data-folder.ts'
import { describeChecks } from '../doctor/describe-checks.ts'
import type { Check } from '../doctor/finding.ts'
import { checkIsolation } from '../doctor/isolation.ts'
import { checkNode } from '../doctor/node-version.ts'
import { checkPorts } from '../doctor/ports.ts'
import { checkRunning } from '../doctor/running.ts'
import { type Failure, failure, toFailure } from '../failure.ts'
import { readRunning } from '../find-gateway.ts'
import { count } from '../print/table.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { verb } from '../verb.ts'
import type { World } from '../world.ts'

export function addDoctorCommand(program: Command, world: World): void {
  verb(program, {
    usage: 'doctor',
    description: 'Look for what is wrong, and say who can mend it',
    example: 'sallyport doctor',
  }).action(perform(world, doctor))
}

/** First what can be seen without a gateway, then what the running one says of itself. */
async function doctor(run: Run): Promise<Outcome> {
  const [local, remote] = await Promise.all([localChecks(run), remoteChecks(run)])
  const items = worstOfEach([...local, ...remote.items])
  return {
    json: { items },
    text: describeChecks(run.style, items),
    failure: remote.failure ?? problemsOf(items),
  }
}

const ranks = ['ok', 'warning', 'problem'] as const

/** What both sides look at is shown once, as the one sees it who sees more wrong; the gateway's word counts if equal. */
function worstOfEach(checks: readonly Check[]): Check[] {
  const worst = new Map<string, Check>()
  for (const check of checks) {
    const known = worst.get(check.id)
    if (known && ranks.indexOf(check.state) < ranks.indexOf(known.state)) continue
    worst.delete(check.id)
    worst.set(check.id, check)
  }
  return [...worst.values()]
}

async function localChecks({ world }: Run): Promise<Check[]> {
  const folder = dataFolder(world.env)
  const running = await readRunning(folder)
  const state = await checkRunning(running)
  const found = await Promise.all([
    checkDataFolder(folder),
    state.isAnswering ? [] : checkPorts(running),
    checkCertificates(folder, world.now()),
    checkIsolation(),
  ])
  return [checkNode(process.versions.node), state.check, ...found.flat()]
}

async function remoteChecks(
  run: Run,
): Promise<{ readonly items: Check[]; readonly failure?: Failure }> {
  try {
    const { items } = await run.during('Asking the running Sallyport', run.call('doctor.run', {}))
    return { items }
  } catch (thrown) {
    return { items: [], failure: toFailure(thrown) }
  }
}

function problemsOf(items: readonly Check[]): Failure | undefined {
  const problems = items.filter(({ state }) => state === 'problem')
  if (problems.length === 0) return undefined
  return failure('problems_found', {
    next: `They are listed above (${count(problems.length, 'problem')}).`,
  })
}
