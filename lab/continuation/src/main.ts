/**
 * `npm run lab:continuation [-- [--long] [--trials N] [--harness NAME]… [--out DIR]]`: what agent programs do with a call
 * that waits for a person, measured with the real programs and a fake model (docs/lab/README.md).
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { clients, findClient } from '../../../tests/clients/install-clients.ts'
import { startClaude } from '../../../tests/clients/start-claude.ts'
import { startCodex } from '../../../tests/clients/start-codex.ts'
import { startGemini } from '../../../tests/clients/start-gemini.ts'
import { startOpencode } from '../../../tests/clients/start-opencode.ts'
import { startPi } from '../../../tests/clients/start-pi.ts'
import { startLabWorld } from './lab-world.ts'
import { carryOut, longPlan, type PlanResult, shortPlan } from './plan.ts'
import { type Circumstances, scorecard } from './scorecard.ts'
import type { Harness } from './trial.ts'

const starts = {
  claude: startClaude,
  codex: startCodex,
  gemini: startGemini,
  opencode: startOpencode,
  pi: startPi,
} as const
type Name = keyof typeof starts
const names = Object.keys(starts) as Name[]

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const { values } = parseArgs({
  options: {
    long: { type: 'boolean', default: false },
    trials: { type: 'string' },
    harness: { type: 'string', multiple: true },
    out: { type: 'string', default: join(repository, 'docs/lab') },
  },
})
const form = values.long ? 'long' : 'short'
const trials = Number(values.trials ?? (values.long ? 22 : 4))
const wanted = values.harness ?? names
const unknown = wanted.filter((name) => !Object.hasOwn(starts, name))
if (!(Number.isInteger(trials) && trials >= 1) || unknown.length > 0) {
  process.stderr.write(`--trials is a number from 1; --harness is one of ${names.join(', ')}\n`)
  process.exit(2)
}

const { harnesses, notRun } = await findHarnesses(names.filter((name) => wanted.includes(name)))
const beganAt = new Date()
const commit = execFileSync('git', ['-C', repository, 'describe', '--always', '--dirty'])
const loadBefore = loadavg()[0] ?? Number.NaN
const world = await startLabWorld()
let result: PlanResult
try {
  const plan = values.long ? longPlan(trials) : shortPlan(trials)
  result = await carryOut(plan, world, harnesses, (line) => process.stderr.write(`${line}\n`))
} finally {
  await world.remove()
}
write(
  {
    date: beganAt.toISOString().slice(0, 10),
    form,
    trials,
    commit: commit.toString().trim(),
    machine: `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    node: process.version,
    kernel: release(),
    load: [loadBefore, loadavg()[0] ?? Number.NaN],
    tookSeconds: (Date.now() - beganAt.getTime()) / 1000,
    notRun,
  },
  result,
)

async function findHarnesses(
  list: readonly Name[],
): Promise<{ harnesses: Harness[]; notRun: string[] }> {
  const found = await Promise.all(list.map(async (name) => [name, await findClient(name)] as const))
  return {
    harnesses: found.flatMap(([name, { program }]) =>
      program === undefined
        ? []
        : [{ name, version: clients[name].version, program, start: starts[name] }],
    ),
    notRun: [
      ...found.flatMap(([, { reason }]) => reason ?? []),
      ...names
        .filter((name) => !list.includes(name))
        .map((name) => `not run: ${name} was not asked for`),
    ],
  }
}

function write(circumstances: Circumstances, measured: PlanResult): void {
  const chosen = ['continuation', circumstances.date, form, trials, ...(values.harness ?? [])]
  const base = join(values.out, chosen.join('-'))
  const card = scorecard(circumstances, measured)
  mkdirSync(values.out, { recursive: true })
  writeFileSync(`${base}.md`, card)
  writeFileSync(
    `${base}.generated.json`,
    `${JSON.stringify({ ...circumstances, ...measured }, null, 1)}\n`,
  )
  process.stdout.write(card)
}
