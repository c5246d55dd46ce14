import { spawn } from 'node:child_process'
import { type Answer, isErrorCode } from '@sallyport/protocol'
import type { Command } from 'commander'
import { type Failure, failure } from '../failure.ts'
import { cellText, facts, moment } from '../print/table.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { verb } from '../verb.ts'
import type { World } from '../world.ts'
import { describeConnection } from './describe-connection.ts'

export function addAuthorizeCommands(connection: Command, world: World): void {
  verb(connection, {
    usage: 'authorize <name>',
    description: 'Sign in at the authorization server of a connection, and wait until it is done',
    example: 'sallyport connection authorize docs --no-browser',
  })
    .option('--no-browser', 'print the address, open nothing')
    .option('--accept-issuer', 'another authorization server than before, or other hosts of it')
    .action(perform(world, authorize))
  verb(connection, {
    usage: 'disconnect <name>',
    description: 'Revoke the credential of a connection; nothing passes with it any more',
    example: 'sallyport connection disconnect docs',
  }).action(
    perform(world, async (run, name: string) => {
      const answer = await run.call('connection.disconnect', { params: { name } })
      const { revocation } = answer
      const told = revocation === null ? [] : [revocations[revocation]]
      return { json: answer, text: [describeConnection(run.style, answer), ...told].join('\n') }
    }),
  )
}

const revocations = {
  revoked: 'The authorization server has revoked the grant as well.',
  not_offered: 'The authorization server offers no revocation: end the grant there by hand.',
  failed: 'The authorization server did not revoke the grant: end it there by hand.',
  asked: 'The authorization server was asked to revoke the grant and has not answered yet.',
} as const

interface AuthorizeOptions {
  readonly browser: boolean
  readonly acceptIssuer?: true
}

type Flow = Answer<'connection.authorization'>

async function authorize(run: Run, name: string, options: AuthorizeOptions): Promise<Outcome> {
  const body = options.acceptIssuer ? { acceptIssuer: true as const } : {}
  const asked = run.call('connection.authorize', { params: { name }, body })
  const begun = await run.during(`Asking ${cellText(name)} who signs in for it`, asked)
  if (begun.authorizeUrl !== null) sendSomebody(run, begun, options.browser)
  const flow =
    begun.state === 'done' ? begun : await run.during('Waiting for the sign-in', ended(run, begun))
  const connection = await run.call('connection.show', { params: { name: flow.connection } })
  const text = describeFlow(run, flow, connection)
  return { json: { ...flow, credential: connection.credential }, text, failure: failureOf(flow) }
}

/** The address is data of another server: it is shown and opened as a URL of the web, or not at all. */
function sendSomebody({ world }: Run, { authorizeUrl, issuer }: Flow, opens: boolean): void {
  const url = webUrl(authorizeUrl ?? '')
  if (!url) throw failure('oauth_metadata_invalid')
  world.stderr.write(`Sign in at ${cellText(issuer)}, within 15 minutes:\n\n  ${url}\n\n`)
  const opener = opens && world.stderr.isTTY === true ? openerOf() : undefined
  if (!opener) return
  const child = spawn(opener, [url], { stdio: 'ignore', detached: true })
  // Whoever has no browser goes there by hand.
  child.on('error', () => undefined)
  child.unref()
}

function webUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url.href : undefined
}

function openerOf(): string | undefined {
  if (process.platform === 'darwin') return 'open'
  const { DISPLAY, WAYLAND_DISPLAY } = process.env
  return DISPLAY || WAYLAND_DISPLAY ? 'xdg-open' : undefined
}

const lookEveryMs = 1_000

async function ended(run: Run, begun: Flow): Promise<Flow> {
  const { world } = run
  const params = { name: begun.connection, id: begun.id }
  const never = new AbortController().signal
  for (;;) {
    const flow = await run.call('connection.authorization', { params })
    if (flow.state === 'done' || flow.state === 'failed') return flow
    if (world.now() > Date.parse(begun.expiresAt)) return { ...flow, code: 'oauth_flow_over' }
    await world.delay(lookEveryMs, never)
  }
}

const accounts: Record<NonNullable<Flow['account']>, string> = {
  first: 'signed in',
  same: 'the same as before; open sessions go on',
  other: 'another than before; open sessions end their use of it',
  unproved: 'not proved to be the same as before; open sessions end their use of it',
}

function describeFlow(run: Run, flow: Flow, { credential }: Answer<'connection.show'>): string {
  const oauth = flow.state === 'done' ? credential?.oauth : undefined
  return facts(run.style, [
    ['connection', flow.connection],
    ['state', flow.state],
    ['issuer', flow.issuer || oauth?.issuerHost],
    ['account', oauth ? (oauth.account ?? 'not told') : undefined],
    ['compared', flow.account ? accounts[flow.account] : undefined],
    ['scopes', oauth ? oauth.scopes.join(' ') || 'not told' : undefined],
    ['token ends', oauth ? (moment(oauth.expiresAt) ?? 'not told') : undefined],
  ])
}

function failureOf({ state, code }: Flow): Failure | undefined {
  if (state === 'done') return undefined
  return failure(isErrorCode(code) ? code : 'oauth_flow_over')
}
