/** Searches every state of the model in `writes/` with spin, or until a law fails. Needs the programs spin and gcc. */
import { execFile, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export interface Findings {
  /** The law that fails, by its name in `laws.pml`; undefined when none does. */
  readonly broken: string | undefined
  /** What happens until then, a line a step; empty when no law fails. */
  readonly steps: readonly string[]
  readonly states: number
}

export interface SearchOptions {
  /** `every`: all states, fast. `shortest`: the fewest steps to a law that fails. `cycles`: whether a run can be endless. */
  readonly look: 'every' | 'shortest' | 'cycles'
  readonly megabytes?: number
}

const model = fileURLToPath(new URL('./writes', import.meta.url))
const run = promisify(execFile)
const outputLimit = 64 * 1024 * 1024

/** One state machine without parallel local steps: partial order reduction only costs. */
const compilation = {
  every: ['-O2', '-DSAFETY', '-DNOREDUCE'],
  shortest: ['-O0', '-DSAFETY', '-DNOREDUCE', '-DBFS'],
  cycles: ['-O1', '-DNP', '-DNOREDUCE', '-DNOFAIR'],
} as const

export function hasSpin(): boolean {
  return ['spin', 'gcc'].every((name) => spawnSync(name, ['--version']).error === undefined)
}

/** `switches` are names of the model, as in `CALLS=2`. Rejects when the search does not come to its end. */
export async function search(
  switches: readonly string[],
  { look, megabytes = 3_000 }: SearchOptions,
): Promise<Findings> {
  const cwd = mkdtempSync(join(tmpdir(), 'sallyport-spin-'))
  const flags = switches.map((name) => `-D${name}`)
  const invoke = async (program: string, args: readonly string[]): Promise<string> =>
    (await run(program, args, { cwd, maxBuffer: outputLimit })).stdout
  try {
    cpSync(model, cwd, { recursive: true })
    await invoke('spin', [...flags, '-a', 'writes.pml'])
    const memory = `-DMEMLIM=${megabytes}`
    await invoke('gcc', ['-w', ...compilation[look], memory, '-o', 'search', 'pan.c'])
    // What is left of a process at its end is no error here: nobody ever ends.
    const told = await invoke('./search', ['-E', '-m100000', ...(look === 'cycles' ? ['-l'] : [])])
    const findings = { broken: brokenIn(told), states: statesIn(told) }
    if (findings.broken === undefined) return { ...findings, steps: [] }
    const trail = await invoke('spin', [...flags, '-t', '-T', 'writes.pml'])
    return { ...findings, steps: stepsIn(trail) }
  } finally {
    rmSync(cwd, { recursive: true })
  }
}

function brokenIn(told: string): string | undefined {
  const failed = /assertion violated (\w+)|pan:\d+: (non-progress cycle)/.exec(told)
  if (failed) return failed[1] ?? failed[2]
  if (/errors: 0$/m.test(told) && !told.includes('Search not completed')) return undefined
  throw new Error(`the search came to no end:\n${told}`)
}

function statesIn(told: string): number {
  return Number(/(\S+) states, stored/.exec(told)?.[1])
}

/** What the steps print, without what spin says around it. */
function stepsIn(trail: string): string[] {
  const [steps = ''] = trail.split(/^spin: trail ends/m)
  return steps
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('spin: '))
}
