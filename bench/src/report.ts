/** The report of a run, as Markdown for people and JSON for machines. */
import { cpus, totalmem } from 'node:os'
import { type Goal, goals, type Machine, standingOf } from './goals.ts'
import { type Case, foreignLimit, type Measurements, nameOf, targetNames } from './measurement.ts'
import type { Spread } from './statistics.ts'

export function markdown(measurements: Measurements, machine: Machine): string {
  const cases = new Map(measurements.all.map((one) => [nameOf(one.case), one.case]))
  return [
    '# Measured',
    '',
    `${describeMachine()} Medians of interleaved rounds with their range; ratios are taken within each round.`,
    'MCP 2026-07-28 over HTTP, keep-alive, every answer checked. Client, servers and upstream share the machine.',
    'Through Sallyport everything is on: authentication, policy, journal, signed intents, mutual TLS.',
    describeDisturbance(measurements),
    '',
    ...goalTable(measurements, machine),
    ...[...cases.values()].flatMap((one) => caseTable(one, measurements)),
  ].join('\n')
}

export function jsonReport(measurements: Measurements, machine: Machine): string {
  const standings = goals.map((goal) => {
    const measured = goal.measured(measurements, machine)
    const { what, unit, better, target, stretch } = goal
    return { what, unit, better, target, stretch, measured, standing: standingOf(goal, measured) }
  })
  const about = { machine: describeMachine(), node: process.version, ...machine }
  return JSON.stringify({ about, goals: standings, measurements: measurements.all }, null, 1)
}

function describeMachine(): string {
  const processors = cpus()
  const gib = Math.round(totalmem() / 2 ** 30)
  return `${processors.length} × ${processors[0]?.model.trim()}, ${gib} GiB, Node ${process.version}.`
}

/** What was disturbed in spite of repetition says more about the machine than about the program. */
function describeDisturbance({ all }: Measurements): string {
  const disturbed = all.filter(({ result }) => result.foreign > foreignLimit).length
  const share = `${foreignLimit * 100} %`
  return `${disturbed} of ${all.length} runs were disturbed: other processes used over ${share} of the machine.`
}

function goalTable(measurements: Measurements, machine: Machine): string[] {
  const rows = goals.map((goal) => {
    const measured = goal.measured(measurements, machine)
    const cells = [goal.what, wanted(goal, goal.target), wanted(goal, goal.stretch)]
    return row([...cells, show(measured, goal.unit), standingOf(goal, measured)])
  })
  const head = ['what', 'target', 'stretch', 'measured (range)', 'reached']
  return ['## Targets', '', row(head), row(['---', '--:', '--:', '--:', '---']), ...rows, '']
}

function caseTable(one: Case, measurements: Measurements): string[] {
  const rows = targetNames.flatMap((target) => {
    const rate = measurements.spread(target, one, ({ callsPerSecond }) => callsPerSecond)
    if (!rate) return []
    const p50 = measurements.spread(target, one, (result) => result.p50)
    const p99 = measurements.spread(target, one, (result) => result.p99)
    const cost = Object.keys(measurements.of(target, one)[0]?.result.servers ?? {}).map((name) => {
      const cpu = measurements.spread(
        target,
        one,
        ({ servers }) => servers[name]?.cpuUsPerCall ?? Number.NaN,
      )
      return `${name} ${cpu?.median.toFixed(0)}`
    })
    return [row([target, show(rate, ''), show(p50, ''), show(p99, ''), cost.join(', ')])]
  })
  const head = ['target', 'calls/s', 'p50 ms', 'p99 ms', 'CPU µs/call']
  return [`## ${nameOf(one)}`, '', row(head), row(['---', '--:', '--:', '--:', '---']), ...rows, '']
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

function wanted(goal: Goal, value: number): string {
  return `${goal.better === 'higher' ? '≥' : '≤'} ${value} ${goal.unit}`
}

function show(measured: Spread | undefined, unit: string): string {
  if (!measured) return '–'
  const { median, low, high } = measured
  return `${short(median)} ${unit} (${short(low)}–${short(high)})`.replace('  ', ' ')
}

function short(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}
