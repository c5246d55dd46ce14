/** `sandbox`: what separates guests on this machine. */
import { type Finding, verifySandbox } from '@sallyport/launcher'
import { dataFolder } from '@sallyport/protocol/node'
import type { Command } from 'commander'
import { describeChecks } from '../doctor/describe-checks.ts'
import type { Check } from '../doctor/finding.ts'
import { failure } from '../failure.ts'
import { count } from '../print/table.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { sandboxes } from '../sandbox/sandboxes.ts'
import { group, verb } from '../verb.ts'
import type { World } from '../world.ts'

export function addSandboxCommands(program: Command, world: World): void {
  const sandbox = group(program, 'sandbox', 'What separates guests on this machine')
  verb(sandbox, {
    usage: 'verify',
    description: 'Make a sandbox, look at it from outside and try its walls from inside',
    example: 'sallyport sandbox verify',
  }).action(perform(world, verify))
}

async function verify(run: Run): Promise<Outcome> {
  const sandbox = sandboxes.bubblewrap()
  const lacking = await sandbox.lacks()
  if (lacking !== undefined) return unusable(run, lacking)
  const report = await run.during(
    'Making a sandbox and trying its walls',
    verifySandbox(sandbox, dataFolder(run.world.env)),
  )
  const items = report.findings.map(checkOf)
  const bad = items.filter(({ state }) => state === 'problem').length
  const next = `They are listed above (${count(bad, 'problem')}).`
  return {
    json: { items, plan: report.plan, evidence: report.evidence },
    text: describeChecks(run.style, items),
    failure: bad === 0 ? undefined : failure('problems_found', { next }),
  }
}

function unusable(run: Run, lacking: string): Outcome {
  const items: Check[] = [
    { id: 'bubblewrap', state: 'problem', text: lacking, who: 'operator', next: null },
  ]
  return {
    json: { items, plan: null, evidence: null },
    text: describeChecks(run.style, items),
    failure: failure('no_isolation', { next: 'What is missing is listed above.' }),
  }
}

function checkOf({ name, isGood, text }: Finding): Check {
  const [state, who] = isGood ? (['ok', null] as const) : (['problem', 'operator'] as const)
  return { id: name, state, text, who, next: null }
}
