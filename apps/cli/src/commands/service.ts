import { type Answer, isErrorCode, type RequestBody, serviceMethods } from '@sallyport/protocol'
import { type Command, Option } from 'commander'
import { type Failure, failure, usageFailure } from '../failure.ts'
import { cellText, count, facts, table } from '../print/table.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { collect, group, verb } from '../verb.ts'
import type { World } from '../world.ts'
import { sealClient } from './oauth-options.ts'

export function addServiceCommands(program: Command, world: World): void {
  const service = group(program, 'service', 'Servers that are offered to whoever adds a connection')
  verb(service, {
    usage: 'add <name>',
    description: 'Offer a server by its URL, which is no secret, for "connection add --service"',
    example: 'sallyport service add linear --resource https://mcp.linear.example/mcp',
  })
    .requiredOption('--resource <url>', 'its URL')
    .addOption(
      new Option('--method <m>', 'how a connection gets its credential')
        .choices([...serviceMethods])
        .default('oauth'),
    )
    .option('--client-file <f>', 'file with the client that was registered there, as JSON')
    .option('--scope-wanted <s>', 'scope to ask for, beside those it names (repeatable)', collect)
    .action(perform(world, addService))
  verb(service, {
    usage: 'list',
    description: 'List what is offered',
    example: 'sallyport service list',
  }).action(perform(world, listServices))
  verb(service, {
    usage: 'remove <name>',
    description: 'Offer it no longer; connections to it stay',
    example: 'sallyport service remove linear',
  }).action(
    perform(world, async (run, name: string) =>
      described(run, await run.call('service.remove', { params: { name } })),
    ),
  )
}

type Service = Answer<'service.create'>

interface AddOptions {
  readonly resource: string
  readonly method: Service['method']
  readonly clientFile?: string
  readonly scopeWanted?: string[]
}

async function addService(run: Run, name: string, options: AddOptions): Promise<Outcome> {
  const { resource, method, clientFile, scopeWanted = [] } = options
  const needsClient = method === 'client_credentials'
  if (needsClient !== (clientFile !== undefined) && method !== 'oauth')
    throw usageFailure(
      '--client-file goes with --method oauth or client_credentials, which needs it',
      'See "sallyport service add --help".',
    )
  const client = clientFile === undefined ? {} : { client: await sealed(run, clientFile, resource) }
  const body = { name, resource, method, scopeWanted, ...client }
  const answer = await run.call('service.create', { body })
  const { json, text } = described(run, answer)
  const next = `Next: sallyport connection add NAME --service ${cellText(answer.name)}`
  return { json, text: `${text}\n${next}` }
}

async function sealed(
  run: Run,
  file: string,
  url: string,
): Promise<RequestBody<'service.create'>['client']> {
  const key = await run.call('vault.show', {})
  return sealClient(run, file, { url, scope: 'org', key, localAllowed: key.localUpstreams })
}

async function listServices(run: Run): Promise<Outcome> {
  const answer = await run.call('service.list', {})
  const { items, problem } = answer
  if (problem) return { json: answer, text: '', failure: problemOf(answer) }
  const rows = table(
    run.style,
    ['NAME', 'RESOURCE', 'METHOD', 'CLIENT'],
    items.map((one) => [one.name, one.resource, one.method, one.hasClient ? 'registered' : null]),
  )
  return { json: answer, text: `${rows}\n${count(items.length, 'service')}` }
}

/** Nothing is offered now, and why. */
function problemOf({ problem }: Answer<'service.list'>): Failure | undefined {
  if (!problem) return undefined
  return failure(isErrorCode(problem.code) ? problem.code : 'wrong_release')
}

/** The service of that name. Throws what keeps services from being offered, and `not_found`. */
export async function offeredService(run: Run, name: string): Promise<Service> {
  const answer = await run.call('service.list', {})
  const found = answer.items.find((one) => one.name === name)
  if (found) return found
  throw problemOf(answer) ?? failure('not_found', { field: '--service' })
}

function described({ style }: Run, one: Service): Outcome {
  const text = facts(style, [
    ['name', one.name],
    ['resource', one.resource],
    ['method', one.method],
    ['client', one.hasClient ? 'registered' : undefined],
    ['scopes wanted', one.scopeWanted.join(' ') || undefined],
  ])
  return { json: one, text }
}
