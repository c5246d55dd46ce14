import { type Answer, connectionCreate, type RequestBody } from '@sallyport/protocol'
import { sealConnection } from '@sallyport/protocol/node'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { usageFailure } from '../failure.ts'
import { cellText } from '../print/table.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { verb } from '../verb.ts'
import type { World } from '../world.ts'
import { collectNamedFile, type NamedFile, readCredential } from './credential-files.ts'
import { describeConnection } from './describe-connection.ts'
import {
  addOAuthOptions,
  checkOAuthOptions,
  type OAuthOptions,
  sealedAuthentication,
  usesOAuth,
} from './oauth-options.ts'
import { offeredService } from './service.ts'

export function addAddCommand(
  connection: Command,
  world: World,
  afterDashes: readonly string[] | undefined,
): void {
  const add = verb(connection, {
    usage: 'add <name> [url-or-command...]',
    description:
      "Add a server by its URL ('-' reads it from stdin), a local program after '--', or tools that a person answers",
    example: 'sallyport connection add docs https://mcp.example.com/mcp --bearer-file token.txt',
  })
    .usage(
      '[options] NAME URL | NAME --service S | NAME -- COMMAND ARG… | NAME --person --tools FILE.json',
    )
    .addOption(
      new Option('--scope <scope>', 'org, project:P or personal (default: org)').argParser(scope),
    )
    .option(
      '--service <name>',
      'a server that is offered ("sallyport service list"), instead of a URL',
    )
    .option('--bearer-file <f>', "file with the bearer token ('-': stdin)")
    .option(
      '--header-file <name=f>',
      'header and the file with its value (repeatable)',
      collectNamedFile,
    )
    .option(
      '--env-file <name=f>',
      'for a program: variable and the file with its value (repeatable)',
      collectNamedFile,
    )
    .option('--cwd <dir>', 'for a program: its folder')
    .addOption(
      new Option('--share <how>', 'for a program: may sessions share it?').choices([
        'auto',
        'never',
      ]),
    )
    .option('--person', 'a person answers the calls')
    .option('--tools <file.json>', 'with --person: the tools')
  addOAuthOptions(add).action(
    perform(world, (run, name: string, words: string[], options: AddOptions) =>
      addConnection(run, { name, words, afterDashes }, options),
    ),
  )
}

function scope(value: string): string {
  const parsed = connectionCreate.shape.scope.safeParse(value)
  if (!parsed.success) throw new InvalidArgumentError('Write org, personal, or project:NAME.')
  return parsed.data
}

interface AddOptions extends OAuthOptions {
  readonly scope?: string
  readonly service?: string
  readonly bearerFile?: string
  readonly headerFile?: NamedFile[]
  readonly envFile?: NamedFile[]
  readonly cwd?: string
  readonly share?: string
  readonly person?: true
  readonly tools?: string
}

interface Words {
  readonly name: string
  /** Everything behind the name. */
  readonly words: readonly string[]
  readonly afterDashes: readonly string[] | undefined
}

type Form =
  | { readonly transport: 'http'; readonly url: string }
  | { readonly transport: 'http'; readonly service: string }
  | { readonly transport: 'stdio' | 'person' }

async function addConnection(run: Run, words: Words, options: AddOptions): Promise<Outcome> {
  const form = formOf(words, options)
  const body = await bodyOf(run, words.name, form, options)
  const answer = await run.call('connection.create', { body })
  const isSignedIn = answer.auth === 'oauth' || answer.auth === 'client_credentials'
  const verb = isSignedIn ? 'connection authorize' : 'catalog discover'
  const next = `Next: sallyport ${verb} ${cellText(answer.name)}`
  return { json: answer, text: `${describeConnection(run.style, answer)}\n${next}` }
}

async function bodyOf(
  run: Run,
  name: string,
  form: Form,
  options: AddOptions,
): Promise<RequestBody<'connection.create'>> {
  const place = options.scope === undefined ? {} : { scope: options.scope }
  if ('url' in form) return sealedBody(run, name, form.url, options)
  if (!('service' in form)) return { name, transport: form.transport, ...place }
  const { service } = form
  const { resource, method } = await offeredService(run, service)
  if (!givesSecret(options)) return { name, service, ...place }
  if (method !== 'none') throw usageFailure('that service is signed in to, without a secret', help)
  return { ...(await sealedBody(run, name, resource, options)), service }
}

const givesSecret = ({ bearerFile, headerFile }: AddOptions): boolean =>
  bearerFile !== undefined || headerFile !== undefined

/** Which of the forms was typed. Throws `usage` for a mixture. */
function formOf({ words, afterDashes }: Words, options: AddOptions): Form {
  const { person, tools, cwd, share, envFile, service } = options
  const ofProgram = cwd !== undefined || share !== undefined || envFile !== undefined
  const ofUrl = givesSecret(options) || usesOAuth(options)
  checkOAuthOptions(options, givesSecret(options), help)
  if (service !== undefined) {
    if (words.length > 0 || afterDashes || person || ofProgram || usesOAuth(options))
      throw usageFailure('--service stands instead of URL, program and --oauth', help)
    return { transport: 'http', service }
  }
  if (person || tools !== undefined) {
    if (!person || tools === undefined || words.length > 0 || ofProgram || ofUrl)
      throw usageFailure('--person takes --tools FILE.json, and neither URL nor program', help)
    return { transport: 'person' }
  }
  if (afterDashes !== undefined) {
    if (afterDashes.length === 0 || words.length > afterDashes.length || ofUrl)
      throw usageFailure("a program is everything after '--', without URL or its secrets", help)
    return { transport: 'stdio' }
  }
  const [url, ...more] = words
  if (url === undefined)
    throw usageFailure("a URL, a program after '--', or --person is missing", help)
  if (more.length > 0)
    throw usageFailure("more than a URL was given; a program comes after '--'", help)
  if (ofProgram)
    throw usageFailure("--env-file, --cwd and --share belong to a program after '--'", help)
  return { transport: 'http', url }
}

const help = 'See "sallyport connection add --help".'

async function sealedBody(
  run: Run,
  name: string,
  typedUrl: string,
  options: AddOptions,
): Promise<RequestBody<'connection.create'>> {
  const wanted = options.scope ?? 'org'
  const url = typedUrl === '-' ? await run.readSecret('-', 'url') : typedUrl
  const secret = await readCredential(run, options)
  const [key, scopeOfSeal] = await Promise.all([run.call('vault.show', {}), sealScope(run, wanted)])
  const id = run.newId('connection')
  const { endpoint, credential } = sealConnection({
    url,
    ...secret,
    connectionId: id,
    credentialId: run.newId('credential'),
    scope: scopeOfSeal,
    revision: 1,
    credentialVersion: 1,
    key,
    localAllowed: key.localUpstreams,
  })
  const place = { url, scope: scopeOfSeal, key, localAllowed: key.localUpstreams }
  const authentication = await sealedAuthentication(run, options, place)
  const given = credential ? { credential } : authentication ? { authentication } : {}
  return { id, name, scope: wanted, endpoint, ...given }
}

async function sealScope(run: Run, wanted: string): Promise<string> {
  if (wanted !== 'personal') return wanted
  const user: Answer<'whoami.show'> = await run.call('whoami.show', {})
  return `personal:${user.id}`
}
