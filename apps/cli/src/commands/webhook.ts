import { type Answer, isErrorCode, type RequestBody, webhookEvents } from '@sallyport/protocol'
import { newWebhookSecret, sealWebhook } from '@sallyport/protocol/node'
import { type Command, InvalidArgumentError } from 'commander'
import { type Failure, failure, toFailure } from '../failure.ts'
import { cellText, count, facts, moment, table } from '../print/table.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { group, verb } from '../verb.ts'
import type { World } from '../world.ts'

export function addWebhookCommands(program: Command, world: World): void {
  const webhook = group(
    program,
    'webhook',
    'Who else is told that somebody has something to decide',
  )
  verb(webhook, {
    usage: 'add <name> <url>',
    description: "Tell another system; never arguments or results ('-' reads the URL from stdin)",
    example: 'sallyport webhook add pager https://hooks.example.com/sallyport',
  })
    .option(
      '--secret-file <f>',
      "file with the secret that it is signed with ('-': stdin); without, one is made and printed once",
    )
    .option('--event <e>', `only of these (repeatable): ${webhookEvents.join(', ')}`, collectEvent)
    .action(perform(world, addWebhook))
  verb(webhook, {
    usage: 'list',
    description: 'List webhooks, and what came of their last deliveries',
    example: 'sallyport webhook list',
  }).action(perform(world, listWebhooks))
  verb(webhook, {
    usage: 'enable <name>',
    description: 'Switch on a webhook whose receiver was gone (410)',
    example: 'sallyport webhook enable pager',
  }).action(perform(world, enableWebhook))
  verb(webhook, {
    usage: 'remove <name>',
    description: 'Remove a webhook; what still waits for it is dropped',
    example: 'sallyport webhook remove pager',
  }).action(perform(world, removeWebhook))
  verb(webhook, {
    usage: 'test <name>',
    description: 'Deliver one test event now',
    example: 'sallyport webhook test pager',
  }).action(perform(world, testWebhook))
}

type WebhookEvent = (typeof webhookEvents)[number]
type Webhook = Answer<'webhook.test'>

function collectEvent(value: string, before: readonly WebhookEvent[] = []): WebhookEvent[] {
  const found = webhookEvents.find((one) => one === value)
  if (!found) throw new InvalidArgumentError(`Allowed choices are ${webhookEvents.join(', ')}.`)
  return [...before, found]
}

interface AddOptions {
  readonly secretFile?: string
  readonly event?: WebhookEvent[]
}

async function addWebhook(
  run: Run,
  name: string,
  typedUrl: string,
  { secretFile, event }: AddOptions,
): Promise<Outcome> {
  const url = typedUrl === '-' ? await run.readSecret('-', 'url') : typedUrl
  const given =
    secretFile === undefined ? undefined : await run.readSecret(secretFile, '--secret-file')
  const secret = given ?? newWebhookSecret()
  const sealed = await sealedBody(run, url, secret)
  const body = { name, ...sealed, ...(event ? { events: event } : {}) }
  const answer = await run.call('webhook.create', { body })
  const told = describe(run, answer)
  const next = `Next: sallyport webhook test ${cellText(answer.name)}`
  if (given !== undefined) return { json: answer, text: `${told}\n${next}` }
  const once = facts(run.style, [['secret', `${secret} (shown once)`]])
  return { json: { ...answer, secret }, text: `${told}\n${once}\n${next}` }
}

async function sealedBody(
  run: Run,
  url: string,
  secret: string,
): Promise<Pick<RequestBody<'webhook.create'>, 'id' | 'seal' | 'clear'>> {
  const key = await run.call('vault.show', {})
  const id = run.newId('webhook')
  const localAllowed = key.localUpstreams
  try {
    const place = { webhookId: id, version: 1, scope: 'org' }
    return { id, ...sealWebhook({ url, secret, ...place, key, localAllowed }) }
  } catch (thrown) {
    if (toFailure(thrown).code !== 'bad_secret') throw thrown
    const next = 'Here it is 24 to 64 bytes in base64, with or without "whsec_" before it.'
    throw failure('bad_secret', { field: '--secret-file', next })
  }
}

async function listWebhooks(run: Run): Promise<Outcome> {
  const answer = await run.call('webhook.list', {})
  const rows = table(
    run.style,
    ['NAME', 'STATE', 'HOST', 'EVENTS', 'DELIVERED', 'FAILED', 'WAITING'],
    answer.items.map((one) => [
      one.name,
      one.state,
      one.host,
      eventText(one),
      moment(one.lastDeliveredAt),
      one.lastFailure?.code,
      one.waiting,
    ]),
  )
  const off = answer.items.map(whyOff).filter((why) => why !== undefined)
  const text = [rows, count(answer.items.length, 'webhook'), ...off].join('\n')
  return { json: answer, text }
}

/** Undefined for one that is on. */
function whyOff({ name, goneAt }: Webhook): string | undefined {
  if (goneAt === null) return undefined
  const why = `its receiver answered that it is gone (410) at ${moment(goneAt)}`
  return `${cellText(name)} is off: ${why}. When it is back: sallyport webhook enable ${cellText(name)}`
}

async function enableWebhook(run: Run, name: string): Promise<Outcome> {
  const params = { id: await idOf(run, name) }
  const answer = await run.call('webhook.enable', { params })
  const next = `Next: sallyport webhook test ${cellText(answer.name)}`
  return { json: answer, text: `${describe(run, answer)}\n${next}` }
}

async function removeWebhook(run: Run, name: string): Promise<Outcome> {
  const params = { id: await idOf(run, name) }
  const answer = await run.call('webhook.remove', { params })
  return { json: answer, text: `Removed ${cellText(answer.name)}.` }
}

async function testWebhook(run: Run, name: string): Promise<Outcome> {
  const params = { id: await idOf(run, name) }
  const work = run.call('webhook.test', { params })
  const answer = await run.during(`Delivering to ${cellText(name)}`, work)
  return { json: answer, text: describe(run, answer), failure: testFailure(answer) }
}

function testFailure({ lastFailure }: Webhook): Failure | undefined {
  if (lastFailure === null) return undefined
  return failure(isErrorCode(lastFailure.code) ? lastFailure.code : 'wrong_release')
}

/** The API names webhooks by their ids; people by their names. */
async function idOf(run: Run, name: string): Promise<string> {
  const { items } = await run.call('webhook.list', {})
  const found = items.find((one) => one.name === name)
  if (!found) throw failure('not_found')
  return found.id
}

function describe({ style }: Run, one: Webhook): string {
  const shown = facts(style, [
    ['name', one.name],
    ['id', one.id],
    ['state', one.state],
    ['host', one.host],
    ['events', eventText(one)],
    ['delivered', moment(one.lastDeliveredAt)],
    ['failed', one.lastFailure ? `${one.lastFailure.code} at ${moment(one.lastFailure.at)}` : null],
    ['waiting', one.waiting],
  ])
  return [shown, whyOff(one)].filter((text) => text !== undefined).join('\n')
}

function eventText({ events }: Webhook): string {
  return events.length === webhookEvents.length ? 'all' : events.join(', ')
}
