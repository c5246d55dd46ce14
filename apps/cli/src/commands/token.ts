import type { Answer } from '@sallyport/protocol'
import type { Command } from 'commander'
import { count, moment, table } from '../print/table.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { intoSecretFile } from '../secret-file.ts'
import { group, verb, wholeNumber } from '../verb.ts'
import type { World } from '../world.ts'

export function addTokenCommands(program: Command, world: World): void {
  const token = group(program, 'token', 'Tokens for the control API')
  verb(token, {
    usage: 'create',
    description: 'Make a token; it goes into a new file (0600) and is shown nowhere',
    example: 'sallyport token create --user ada --expires 90 --file ada.token',
  })
    .requiredOption('--user <name>', 'whose token it is')
    .requiredOption('--file <f>', 'file to make')
    .option('--expires <days>', 'days until it ends (default: never)', wholeNumber)
    .action(perform(world, createToken))
  verb(token, {
    usage: 'list',
    description: 'List tokens',
    example: 'sallyport token list',
  }).action(perform(world, listTokens))
  verb(token, {
    usage: 'revoke <id>',
    description: 'Revoke a token',
    example: 'sallyport token revoke tok_01jd0000000000000000000000',
  }).action(perform(world, revokeToken))
}

interface CreateOptions {
  readonly user: string
  readonly file: string
  readonly expires?: number
}

async function createToken(run: Run, options: CreateOptions): Promise<Outcome> {
  const { user, file, expires } = options
  const token = await intoSecretFile(file, '--file', async () => {
    const body = { user, ...(expires === undefined ? {} : { expiresDays: expires }) }
    const answer = await run.call('token.create', { body })
    return { secret: answer.secret, value: answer.token }
  })
  return { json: { token, file }, text: `${rows(run, [token])}\nThe token is in ${file}.` }
}

async function listTokens(run: Run): Promise<Outcome> {
  const answer = await run.call('token.list', {})
  return {
    json: answer,
    text: `${rows(run, answer.items)}\n${count(answer.items.length, 'token')}`,
  }
}

async function revokeToken(run: Run, id: string): Promise<Outcome> {
  const answer = await run.call('token.revoke', { params: { id } })
  return { json: answer, text: rows(run, [answer]) }
}

function rows({ style }: Run, tokens: readonly Answer<'token.revoke'>[]): string {
  return table(
    style,
    ['ID', 'STATE', 'USER', 'LABEL', 'CREATED', 'EXPIRES'],
    tokens.map((one) => [
      one.id,
      one.state,
      one.user,
      one.label,
      moment(one.createdAt),
      one.expiresAt === null ? 'never' : moment(one.expiresAt),
    ]),
  )
}
