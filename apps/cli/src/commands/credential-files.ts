import type { Header } from '@sallyport/protocol/node'
import { InvalidArgumentError } from 'commander'
import type { Run } from '../run.ts'

/** A name and the file that holds its value. */
export interface NamedFile {
  readonly name: string
  readonly path: string
}

/** Reads `Name=F`; for options that may be given more than once. */
export function collectNamedFile(value: string, before: readonly NamedFile[] = []): NamedFile[] {
  const at = value.indexOf('=')
  if (at < 1 || at === value.length - 1) throw new InvalidArgumentError('Write it as NAME=FILE.')
  return [...before, { name: value.slice(0, at), path: value.slice(at + 1) }]
}

export interface CredentialOptions {
  readonly bearerFile?: string
  readonly headerFile?: NamedFile[]
}

export async function readCredential(
  run: Run,
  { bearerFile, headerFile = [] }: CredentialOptions,
): Promise<{ token: string | undefined; headers: Header[] }> {
  const token =
    bearerFile === undefined ? undefined : await run.readSecret(bearerFile, '--bearer-file')
  const headers: Header[] = []
  for (const { name, path } of headerFile)
    headers.push({ name, value: await run.readSecret(path, `--header-file ${name}`) })
  return { token, headers }
}
