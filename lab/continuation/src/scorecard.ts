/** The scorecard: what was seen, with its intervals, and what so many trials can decide. */
import { countOutcomes, outcomes } from './outcome.ts'
import type { HarnessResult, PlanResult } from './plan.ts'
import { gate, judge, quantile, type Share, shareOf } from './statistics.ts'

export interface Circumstances {
  readonly date: string
  readonly form: 'short' | 'long'
  readonly trials: number
  /** As git describes it; `-dirty` with changes that are in no commit. */
  readonly commit: string
  readonly machine: string
  readonly node: string
  readonly kernel: string
  /** One-minute load when it began and when it ended. */
  readonly load: readonly [number, number]
  readonly tookSeconds: number
  /** Harnesses that are not among the results, and why. */
  readonly notRun: readonly string[]
}

export function scorecard(circumstances: Circumstances, { harnesses, held }: PlanResult): string {
  return [
    ...heading(circumstances),
    ...table(
      [
        'harness',
        'way',
        'held',
        'trials',
        ...outcomes,
        'closed after',
        'accepted, 95 %',
        'verdict',
      ],
      harnesses.flatMap(holdRows),
    ),
    '',
    '## Ceiling, by bisection',
    '',
    'The longest wait that was accepted and the shortest that was not. The margin is 20 %: what to rely on is four fifths of the first.',
    '',
    ...table(
      ['harness', 'way', 'told to wait', 'accepted', 'not accepted', 'with margin', 'probes'],
      harnesses.flatMap(ceilingRows),
    ),
    '',
    '## Without holding: the next turn in a new process',
    '',
    'The first turn is told to come back and ends; a person decides; the next turn asks for the same in a new process.',
    'Added is what that costs over the same call held for the shortest time above.',
    '',
    ...table(
      [
        'harness',
        'trials',
        'not matched',
        'asked again',
        'writes',
        'resume p50',
        'resume p95',
        'held: p50',
        'added requests',
        'added bytes',
        'gate',
      ],
      harnesses.map(coldRow),
    ),
    '',
    'The gate asks whether holding is worth it: more than 5 % not matched, more than 2 % asked again, more than 3 s added at p50, or more than',
    '10 % added to what the model is sent. A fake model asks for exactly what it is told, so *not matched* and *asked again* are what',
    'harness and Sallyport lose between them, and nothing of how a model drifts. There is one gateway: none can be the wrong one.',
    '',
    '## One call that waits, in the gateway',
    '',
    `Of the second ${held.calls}: ${held.descriptorsEach.toFixed(2)} descriptors, ${kib(held.rssKibEach)} resident, ${kib(held.pssKibEach)} proportional each.`,
    '',
  ].join('\n')
}

const kib = (value: number | undefined) =>
  value === undefined ? 'an amount that cannot be read here' : `${value.toFixed(1)} KiB`

function heading({ form, notRun, load, ...seen }: Circumstances): string[] {
  return [
    `# Continuation: what becomes of a call that waits (${seen.date}, ${form} form, ${seen.trials} trials)`,
    '',
    `Made by \`npm run lab:continuation\` on commit ${seen.commit}: ${seen.machine}, Linux ${seen.kernel}, Node ${seen.node}.`,
    `It took ${Math.round(seen.tookSeconds)} s; load ${load[0].toFixed(1)} at the start, ${load[1].toFixed(1)} at the end; one machine. The model is fake, the programs are real.`,
    ...notRun.map((line) => `${line}.`),
    '',
    '## A call that is held',
    '',
    '`signs`: through Sallyport, which shows signs of life every 15 s. `silent`: directly to a server that says nothing until it answers.',
    `Passed: at least ${gate.share * 100} % accepted and continued, with the lower end of the 95 % interval (Wilson) at ${gate.low * 100} % or above, which`,
    `takes ${gate.fewest} trials without a miss. Failed: so many trials, and the whole interval below that share. Else undecided.`,
    '',
  ]
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)]
}

const percent = (value: number) => `${(100 * value).toFixed(0)} %`
const interval = ({ hits, of, low, high }: Share) =>
  `${hits} of ${of} (${percent(low)}–${percent(high)})`
const seconds = (ms: number | undefined) => (ms === undefined ? '–' : `${(ms / 1000).toFixed(1)} s`)

function holdRows({ name, version, holds }: HarnessResult): string[][] {
  return holds.map(({ way, seconds: held, results }) => {
    const counts = countOutcomes(results.map(({ outcome }) => outcome))
    const share = shareOf(counts['accepted-and-continued'], results.length)
    const cells = outcomes.map((one) => String(counts[one]))
    const closed = results.filter(({ outcome }) => outcome === 'client-closed')
    const after = seconds(median(closed.map(({ heldMs }) => heldMs)))
    return [
      `${name} ${version}`,
      way,
      `${held} s`,
      String(results.length),
      ...cells,
      after,
      interval(share),
      judge(share),
    ]
  })
}

function ceilingRows({ name, ceilings }: HarnessResult): string[][] {
  return ceilings.map(({ way, limitSeconds, holds, breaks, probes, range }) => [
    name,
    way,
    limitSeconds === undefined ? 'its default' : `${limitSeconds} s`,
    holds === undefined ? `less than ${range.from} s` : `${holds} s`,
    breaks === undefined ? `more than ${range.to} s` : `${breaks} s`,
    holds === undefined ? '–' : `${(holds * 0.8).toFixed(1)} s`,
    String(probes.length),
  ])
}

/** Of the trials that a held call costs least in. */
function shortest({ holds }: HarnessResult) {
  const warm = holds.filter(({ way }) => way === 'signs').toSorted((a, b) => a.seconds - b.seconds)
  return warm[0]?.results.filter(({ outcome }) => outcome === 'accepted-and-continued') ?? []
}

const known = (values: readonly (number | undefined)[]) =>
  values.filter((value) => value !== undefined)
const median = (values: readonly (number | undefined)[]) => quantile(known(values), 0.5)

function coldRow(result: HarnessResult): string[] {
  const { name, cold } = result
  const warm = shortest(result)
  const missed = shareOf(cold.filter(({ matched }) => !matched).length, cold.length)
  const again = shareOf(cold.filter(({ askedAgain }) => askedAgain).length, cold.length)
  const resumes = cold.map(({ resumeMs }) => resumeMs)
  const warmMs = median(warm.map(({ resumeMs }) => resumeMs))
  const added = (of: 'requests' | 'bytes') => {
    const [before, after] = [warm, cold].map((list) => median(list.map(({ model }) => model[of])))
    return before === undefined || after === undefined
      ? undefined
      : ([after - before, after / before - 1] as const)
  }
  const [requests, bytes] = [added('requests'), added('bytes')]
  const addedMs = (median(resumes) ?? Number.NaN) - (warmMs ?? Number.NaN)
  return [
    name,
    String(cold.length),
    interval(missed),
    interval(again),
    String(cold.reduce((sum, { effects }) => sum + effects, 0)),
    seconds(median(resumes)),
    seconds(quantile(known(resumes), 0.95)),
    seconds(warmMs),
    requests ? `${requests[0]}` : '–',
    bytes ? `${(bytes[0] / 1024).toFixed(1)} KiB (${percent(bytes[1])})` : '–',
    worth({ missed, again, addedMs, addedShare: bytes?.[1] ?? Number.NaN, trials: cold.length }),
  ]
}

/** Fewer trials than can pass a gate decide nothing, whatever their median says. */
export function worth(seen: {
  readonly missed: Share
  readonly again: Share
  readonly addedMs: number
  readonly addedShare: number
  readonly trials: number
}): 'worth holding' | 'not worth holding' | 'undecided' {
  if (seen.trials < gate.fewest) return 'undecided'
  if (seen.missed.low > 0.05 || seen.again.low > 0.02) return 'worth holding'
  if (seen.addedMs > 3000 || seen.addedShare > 0.1) return 'worth holding'
  const isBelow = seen.missed.high <= 0.05 && seen.again.high <= 0.02
  return isBelow && seen.addedMs <= 3000 && seen.addedShare <= 0.1
    ? 'not worth holding'
    : 'undecided'
}
