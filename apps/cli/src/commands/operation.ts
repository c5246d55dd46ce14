/** What concerns the running Sallyport as a whole. */
import type { Answer, RequestBody } from '@sallyport/protocol'
import type { Command } from 'commander'
import { asciiJson } from '../print/ascii-json.ts'
import { facts, moment, table } from '../print/table.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { group, verb } from '../verb.ts'
import type { World } from '../world.ts'
import { addDoctorCommand } from './doctor.ts'
import { addKeysCommands } from './keys.ts'

export function addOperationCommands(program: Command, world: World): void {
  verb(program, {
    usage: 'status',
    description: 'Show what runs, and who you are to it',
    example: 'sallyport status',
  }).action(perform(world, showStatus))
  addDoctorCommand(program, world)
  verb(program, {
    usage: 'pause',
    description: 'Let no call pass; everything else goes on',
    example: 'sallyport pause --writes --note "the tracker is moving"',
  })
    .requiredOption('--note <text>', 'why, for everybody who asks')
    .option('--writes', 'only writes')
    .action(perform(world, pause))
  verb(program, {
    usage: 'resume',
    description: 'Let calls pass again',
    example: 'sallyport resume',
  }).action(perform(world, resume))
  addSettings(program, world)
  addKeysCommands(program, world)
}

function addSettings(program: Command, world: World): void {
  const settings = group(program, 'settings', 'Settings of this Sallyport')
  verb(settings, {
    usage: 'list',
    description: 'List settings, with default, unit, bounds and who may change them',
    example: 'sallyport settings list',
  }).action(perform(world, listSettings))
  verb(settings, {
    usage: 'set <name> <value>',
    description: 'Set; the value is JSON, else text',
    example: 'sallyport settings set maxCallsPerSession 32',
  }).action(perform(world, setSetting))
  verb(settings, {
    usage: 'unset <name>',
    description: 'Back to the default',
    example: 'sallyport settings unset maxCallsPerSession',
  }).action(perform(world, unsetSetting))
}

async function showStatus(run: Run): Promise<Outcome> {
  const [status, user, { url }] = await Promise.all([
    run.call('status.show', {}),
    run.call('whoami.show', {}),
    run.gateway(),
  ])
  return {
    json: status,
    text: describeStatus(run, status, { url, user: `${user.name} (${user.role})` }),
  }
}

function describeStatus(
  { style }: Run,
  status: Answer<'status.show'>,
  about: { readonly url?: string; readonly user?: string },
): string {
  const { paused, worker } = status
  return facts(style, [
    ['address', about.url],
    ['you', about.user],
    ['release', `${status.release} (${status.build})`],
    ['started', moment(status.startedAt)],
    ['database', status.database],
    ['worker', worker.release === null ? worker.state : `${worker.state}, ${worker.release}`],
    ['paused', paused ? describePause(paused) : 'no'],
    ['connections', status.connections],
    ['open sessions', status.sessions],
    ['calls in flight', status.dispatching],
    ['waiting for a person', status.pendingApprovals],
    ['unknown outcomes', status.unknown],
  ])
}

function describePause(paused: NonNullable<Answer<'status.show'>['paused']>): string {
  const what = paused.writesOnly ? 'writes' : 'every call'
  return `${what}, by ${paused.by} at ${moment(paused.at)}: ${paused.note}`
}

async function pause(run: Run, options: { note: string; writes?: true }): Promise<Outcome> {
  const body = { note: options.note, writes: options.writes === true }
  const status = await run.call('pause.set', { body })
  return { json: status, text: describeStatus(run, status, {}) }
}

async function resume(run: Run): Promise<Outcome> {
  const status = await run.call('pause.clear', {})
  return { json: status, text: describeStatus(run, status, {}) }
}

async function listSettings(run: Run): Promise<Outcome> {
  const answer = await run.call('setting.list', {})
  return { json: answer, text: settingRows(run, answer.items) }
}

async function setSetting(run: Run, name: string, value: string): Promise<Outcome> {
  const answer = await run.call('setting.set', {
    params: { name },
    body: { value: jsonOrText(value) },
  })
  return { json: answer, text: settingRows(run, [answer]) }
}

async function unsetSetting(run: Run, name: string): Promise<Outcome> {
  const answer = await run.call('setting.unset', { params: { name } })
  return { json: answer, text: settingRows(run, [answer]) }
}

function jsonOrText(text: string): RequestBody<'setting.set'>['value'] {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function settingRows({ style }: Run, settings: readonly Answer<'setting.set'>[]): string {
  return table(
    style,
    ['NAME', 'STATE', 'VALUE', 'DEFAULT', 'UNIT', 'BOUNDS', 'WHO', 'WHAT'],
    settings.map((one) => [
      one.id,
      one.state,
      asciiJson(one.value),
      asciiJson(one.default),
      one.unit,
      one.bounds,
      one.who,
      one.description,
    ]),
  )
}
