import type { Answer, ConnectionId, CredentialId, RequestBody } from '@sallyport/protocol'
import { type CredentialToSeal, sealConnection, sealCredential } from '@sallyport/protocol/node'
import { type Command, Option } from 'commander'
import { usageFailure } from '../failure.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { verb } from '../verb.ts'
import type { World } from '../world.ts'
import { type CredentialOptions, collectNamedFile, readCredential } from './credential-files.ts'
import { describeConnection } from './describe-connection.ts'

export function addEditCommand(connection: Command, world: World): void {
  verb(connection, {
    usage: 'edit <name>',
    description: 'Edit a connection; what is not given stays',
    example:
      'sallyport connection edit docs --same-url https://mcp.example.com/mcp --bearer-file new.txt',
  })
    .option('--rename <name>', 'another name')
    .option(
      '--url <url>',
      "another URL ('-': stdin): disables it, asks for the secret again and a new discovery",
    )
    .addOption(
      new Option(
        '--same-url <url>',
        "the URL as it is ('-': stdin): a new secret is sealed for the place it may go to",
      ).conflicts('url'),
    )
    .option('--bearer-file <f>', "file with the bearer token ('-': stdin)")
    .option(
      '--header-file <name=f>',
      'header and the file with its value (repeatable)',
      collectNamedFile,
    )
    .option('--no-credential', 'drop the secret that is there')
    .action(perform(world, editConnection))
}

interface EditOptions extends CredentialOptions {
  readonly rename?: string
  readonly url?: string
  readonly sameUrl?: string
  /** False with `--no-credential`. */
  readonly credential: boolean
}

type Connection = Answer<'connection.show'>

async function editConnection(run: Run, name: string, options: EditOptions): Promise<Outcome> {
  const { rename, url, sameUrl } = options
  checkOptions(options)
  const before = await run.call('connection.show', { params: { name } })
  checkWholeCredential(before, options)
  const sealed = url === undefined && sameUrl === undefined ? {} : await seal(run, before, options)
  const dropped = options.credential ? {} : { credential: null }
  const body: RequestBody<'connection.edit'> = {
    version: before.version,
    ...(rename === undefined ? {} : { name: rename }),
    ...dropped,
    ...sealed,
  }
  const answer = await run.call('connection.edit', { params: { name: before.id }, body })
  const text = describeConnection(run.style, answer)
  return {
    json: answer,
    text: url === undefined ? text : `${text}\nNext: sallyport catalog discover ${answer.name}`,
  }
}

const givesSecret = ({ bearerFile, headerFile }: EditOptions): boolean =>
  bearerFile !== undefined || headerFile !== undefined

function checkOptions(options: EditOptions): void {
  const { rename, url, sameUrl, credential: keep } = options
  const secret = givesSecret(options)
  if (sameUrl !== undefined && !secret)
    throw usageFailure('--same-url goes with --bearer-file or --header-file', help)
  if (secret && url === undefined && sameUrl === undefined)
    throw usageFailure('a new secret is sealed for its URL: give --same-url (or --url)', help)
  if (rename === undefined && url === undefined && !secret && keep)
    throw usageFailure('nothing to edit was given', help)
}

/** A credential is one sealed bundle that only the worker opens: a part of it cannot stay while another changes. */
function checkWholeCredential(before: Connection, options: EditOptions): void {
  const { url, bearerFile, headerFile = [], credential: keep } = options
  if (!keep || (url === undefined && !givesSecret(options))) return
  const given = new Set(headerFile.map((one) => one.name.toLowerCase()))
  const missing = before.headerNames
    .filter((one) => !given.has(one.toLowerCase()))
    .map((one) => `--header-file ${one}=F`)
  if (before.auth === 'bearer' && bearerFile === undefined) missing.unshift('--bearer-file F')
  if (missing.length === 0) return
  const again = missing.join(' ')
  throw usageFailure(
    `the secret is sealed as a whole and for its URL: give ${again} again, or --no-credential`,
    help,
  )
}

const help = 'See "sallyport connection edit --help".'

async function seal(
  run: Run,
  before: Connection,
  options: EditOptions,
): Promise<Pick<RequestBody<'connection.edit'>, 'endpoint' | 'credential'>> {
  const typed = options.url ?? options.sameUrl ?? ''
  const url = typed === '-' ? await run.readSecret('-', 'url') : typed
  const secret = await readCredential(run, options)
  const key = await run.call('vault.show', {})
  const input: CredentialToSeal = {
    url,
    ...secret,
    ...nextCredential(run, before),
    scope: before.ownerId === null ? before.scope : `personal:${before.ownerId}`,
    key,
    localAllowed: key.localUpstreams,
  }
  if (options.url === undefined) {
    const credential = sealCredential(input)
    return credential ? { credential } : {}
  }
  const connectionId = before.id as ConnectionId
  const sealed = sealConnection({ ...input, connectionId, revision: before.revision + 1 })
  const { endpoint, credential } = sealed
  return { endpoint, ...(credential ? { credential } : {}) }
}

function nextCredential(
  run: Run,
  { credential }: Connection,
): Pick<CredentialToSeal, 'credentialId' | 'credentialVersion'> {
  return credential === null || credential.state === 'revoked'
    ? { credentialId: run.newId('credential'), credentialVersion: 1 }
    : { credentialId: credential.id as CredentialId, credentialVersion: credential.version + 1 }
}
