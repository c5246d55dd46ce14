/** Where the database is. Its URL may hold a password: it is read here, and never told. */
import { readFileSync } from 'node:fs'
import { UsageError } from './usage-error.ts'

export const databaseFlags = {
  database: { type: 'string', multiple: true },
  'database-file': { type: 'string' },
} as const

export const databaseVariable = 'SALLYPORT_DATABASE'

export const databaseUsage = `\
  --database postgres://…   Postgres instead of the embedded database
  --database-file F         … at the URL in the first line of F; with a password give it so, or
                            in SALLYPORT_DATABASE: every user here can read arguments
`

interface Given {
  readonly database?: readonly string[] | undefined
  readonly 'database-file'?: string | undefined
}

/** Undefined: the embedded one. Throws UsageError. */
export function databaseUrl(flags: Given, env: NodeJS.ProcessEnv): string | undefined {
  const { database = [], 'database-file': file } = flags
  const variable = env[databaseVariable] || undefined
  if ([...database, file, variable].filter((one) => one !== undefined).length > 1)
    throw new UsageError(`only one of --database, --database-file and ${databaseVariable}`)
  if (file !== undefined) return checked(firstLine(file), `the first line of ${named(file)} is no`)
  return variable === undefined
    ? checked(database[0], '--database takes a')
    : checked(variable, `${databaseVariable} takes a`)
}

/** Given as an argument, it is in the process list as long as this runs. */
export function showsPassword({ database = [] }: Given): boolean {
  return database.some((url) => /\/\/[^/]*:[^@]+@|[?&](?:ssl)?password=[^&]/.test(url))
}

/** What Node says of arguments, without what a URL may hold: a password may be anywhere behind its scheme. */
export function withoutPasswords(text: string): string {
  return text.replace(/:\/\/(?:.*(?='\. )|.*$)/s, '://…')
}

/** Somebody may have meant `--database`. */
function named(file: string): string {
  return `--database-file ${withoutPasswords(file)}`
}

function checked(url: string | undefined, complaint: string): string | undefined {
  if (url !== undefined && !/^postgres(?:ql)?:\/\//.test(url))
    throw new UsageError(`${complaint} postgres:// URL`)
  return url
}

function firstLine(file: string): string {
  try {
    return (readFileSync(file, 'utf8').split('\n')[0] ?? '').trim()
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new UsageError(`${named(file)} cannot be read (${code})`, { cause })
  }
}
