import { type Answer, isErrorCode, type RouteName } from '@sallyport/protocol'
import type { Command } from 'commander'
import { type Failure, failure } from '../failure.ts'
import { cellText, count, facts, moment, table } from '../print/table.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { group, verb } from '../verb.ts'
import type { World } from '../world.ts'
import { addAddCommand } from './connection-add.ts'
import { addAuthorizeCommands } from './connection-authorize.ts'
import { addEditCommand } from './connection-edit.ts'
import { describeConnection } from './describe-connection.ts'

export function addConnectionCommands(
  program: Command,
  world: World,
  afterDashes: readonly string[] | undefined,
): void {
  const connection = group(program, 'connection', 'Servers that Sallyport stands in front of')
  addAddCommand(connection, world, afterDashes)
  verb(connection, {
    usage: 'list',
    description: 'List connections',
    example: 'sallyport connection list',
  }).action(perform(world, listConnections))
  const show = { usage: 'show <name>', description: 'Show a connection' }
  verb(connection, { ...show, example: 'sallyport connection show docs' }).action(
    perform(world, (run, name: string) => showWith(run, 'connection.show', name)),
  )
  verb(connection, {
    usage: 'status [name]',
    description: 'Show the health of a connection, or of all',
    example: 'sallyport connection status docs',
  }).action(perform(world, showStatus))
  verb(connection, {
    usage: 'test <name>',
    description: 'Connect and list the tools; changes nothing',
    example: 'sallyport connection test docs',
  }).action(perform(world, testConnection))
  addAuthorizeCommands(connection, world)
  addChanges(connection, world)
  addEditCommand(connection, world)
}

function addChanges(connection: Command, world: World): void {
  verb(connection, {
    usage: 'refresh <name>',
    description: 'Connect anew and list the tools again',
    example: 'sallyport connection refresh docs',
  }).action(
    perform(world, (run, name: string) =>
      run.during(
        `Listing the tools of ${cellText(name)}`,
        showWith(run, 'connection.refresh', name),
      ),
    ),
  )
  verb(connection, {
    usage: 'enable <name>',
    description: 'Let calls pass; needs a published catalog',
    example: 'sallyport connection enable docs',
  }).action(perform(world, (run, name: string) => showWith(run, 'connection.enable', name)))
  verb(connection, {
    usage: 'disable <name>',
    description: 'Let no call pass any more',
    example: 'sallyport connection disable docs',
  }).action(perform(world, (run, name: string) => showWith(run, 'connection.disable', name)))
  verb(connection, {
    usage: 'remove <name>',
    description: 'Delete a connection and its credential; the journal stays',
    example: 'sallyport connection remove docs',
  }).action(perform(world, (run, name: string) => showWith(run, 'connection.remove', name)))
}

type NamesOne = Extract<
  RouteName,
  | 'connection.show'
  | 'connection.refresh'
  | 'connection.enable'
  | 'connection.disable'
  | 'connection.remove'
>

async function showWith(run: Run, route: NamesOne, name: string): Promise<Outcome> {
  const answer = await run.call(route, { params: { name } })
  return { json: answer, text: describeConnection(run.style, answer) }
}

async function listConnections(run: Run): Promise<Outcome> {
  const answer = await run.call('connection.list', {})
  const rows = table(
    run.style,
    ['NAME', 'STATE', 'SCOPE', 'ENDPOINT', 'AUTH', 'CATALOG', 'HEALTH'],
    answer.items.map((one) => [
      one.name,
      one.state,
      one.scope,
      one.endpoint,
      one.auth,
      one.published?.number,
      shownCondition(one),
    ]),
  )
  return { json: answer, text: `${rows}\n${count(answer.items.length, 'connection')}` }
}

async function showStatus(run: Run, name: string | undefined): Promise<Outcome> {
  if (name === undefined) return allStatus(run)
  const one = await run.call('connection.show', { params: { name } })
  const text = facts(run.style, [
    ['name', one.name],
    ['state', one.state],
    ['health', shownCondition(one)],
    ['code', one.health.code ?? undefined],
    ['next', nextOf(one)],
    ['looked at', moment(one.health.at)],
    ['listed', one.observed ? moment(one.observed.at) : null],
    ['changed since published', one.observed ? (one.observed.drift ? 'yes' : 'no') : null],
    ['credential', one.credential?.state ?? 'none'],
    ['account', one.credential?.oauth ? (one.credential.oauth.account ?? 'not told') : undefined],
    ['issuer', one.credential?.oauth?.issuerHost],
    ['rights to grant', one.missingScopes.length > 0 ? one.missingScopes.join(' ') : undefined],
    ['token ends', one.credential?.oauth ? moment(one.credential.oauth.expiresAt) : undefined],
  ])
  return { json: one, text }
}

/** What needs somebody comes first. */
async function allStatus(run: Run): Promise<Outcome> {
  const answer = await run.call('connection.list', {})
  const items = answer.items.toSorted(
    (one, other) => Number(isFine(one.condition)) - Number(isFine(other.condition)),
  )
  const rows = table(
    run.style,
    ['NAME', 'STATE', 'HEALTH', 'LOOKED AT', 'NEXT'],
    items.map((one) => [
      one.name,
      one.state,
      shownCondition(one),
      moment(one.health.at),
      nextOf(one),
    ]),
  )
  const troubled = items.filter((one) => !isFine(one.condition)).length
  const need = troubled === 1 ? '1 needs somebody' : `${troubled} need somebody`
  const text = `${rows}\n${count(items.length, 'connection')}; ${need}`
  return { json: answer, text }
}

type Shown = Answer<'connection.show'>
type Condition = Shown['condition']

const isFine = (condition: Condition): boolean => condition === 'ok' || condition === 'unknown'

/** The class of a failure is in its code: `upstream_dns` is told as `unreachable (dns)`. */
function shownCondition({ condition, health }: Pick<Shown, 'condition' | 'health'>): string {
  const code = condition === 'unreachable' || condition === 'seal' ? health.code : null
  const failureClass = code?.replace(/^(?:upstream|seal)_/, '')
  const text = conditions[condition]
  return failureClass && failureClass !== condition ? `${text} (${failureClass})` : text
}

function nextOf({ name, condition, auth }: Shown): string | undefined {
  const isSignedIn = auth === 'oauth' || auth === 'client_credentials'
  switch (condition) {
    case 'ok':
      return undefined
    case 'unknown':
    case 'unreachable':
      return `sallyport connection test ${name}`
    case 'drift':
      return `sallyport catalog diff ${name}`
    case 'seal':
      return `sallyport connection edit ${name}`
    default:
      return isSignedIn
        ? `sallyport connection authorize ${name}`
        : `sallyport connection edit ${name}`
  }
}

const conditions: Record<Condition, string> = {
  ok: 'ok',
  unknown: 'unknown',
  expiring: 'expiring: sign in again soon',
  needs_sign_in: 'needs sign-in',
  revoked: 'revoked',
  changed_account: 'changed account: sign in again',
  unreachable: 'unreachable',
  unauthorized: 'unauthorized: the server does not accept the secret',
  drift: 'drift: its tools are not those that were published',
  seal: 'seal: the secret has to be entered again',
}

async function testConnection(run: Run, name: string): Promise<Outcome> {
  const work = run.call('connection.test', { params: { name } })
  const answer = await run.during(`Connecting ${cellText(name)}`, work)
  const text = facts(run.style, [
    ['connection', name],
    ['state', answer.state],
    ['era', answer.era],
    ['tools', answer.tools],
    ['took', `${Math.round(answer.tookMs)} ms`],
  ])
  return { json: answer, text, failure: testFailure(answer) }
}

function testFailure({ state, code }: Answer<'connection.test'>): Failure | undefined {
  if (state === 'ok') return undefined
  return failure(isErrorCode(code) ? code : 'wrong_release')
}
