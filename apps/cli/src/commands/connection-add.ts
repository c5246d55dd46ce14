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

export function addAddCommand(
  connection: Command,
  world: World,
  afterDashes: readonly string[] | undefined,
): void {
  verb(connection, {
    usage: 'add <name> [url-or-command...]',
    description:
      "Add a server by its URL ('-' reads it from stdin), a local program after '--', or tools that a person answers",
    example: 'sallyport connection add docs https://mcp.example.com/mcp --bearer-file token.txt',
  })
    .usage('[options] NAME URL | NAME -- COMMAND ARG… | NAME --person --tools FILE.json')
    .addOption(
      new Option('--scope <scope>', 'org, project:P or personal (default: org)').argParser(scope),
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
    .action(
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

interface AddOptions {
  readonly scope?: string
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
  | { readonly transport: 'stdio' | 'person' }

async function addConnection(run: Run, words: Words, options: AddOptions): Promise<Outcome> {
  const form = formOf(words, options)
  const place = options.scope === undefined ? {} : { scope: options.scope }
  const body =
    form.transport === 'http'
      ? await sealedBody(run, words.name, form.url, options)
      : { name: words.name, transport: form.transport, ...place }
  const answer = await run.call('connection.create', { body })
  const next = `Next: sallyport catalog discover ${cellText(answer.name)}`
  return { json: answer, text: `${describeConnection(run.style, answer)}\n${next}` }
}

/** Which of the three forms was typed. Throws `usage` for a mixture. */
function formOf({ words, afterDashes }: Words, options: AddOptions): Form {
  const { person, tools, cwd, share, envFile, bearerFile, headerFile } = options
  const ofProgram = cwd !== undefined || share !== undefined || envFile !== undefined
  const ofUrl = bearerFile !== undefined || headerFile !== undefined
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
  return { id, name, scope: wanted, endpoint, ...(credential ? { credential } : {}) }
}

async function sealScope(run: Run, wanted: string): Promise<string> {
  if (wanted !== 'personal') return wanted
  const user: Answer<'whoami.show'> = await run.call('whoami.show', {})
  return `personal:${user.id}`
}
