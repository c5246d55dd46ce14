/** Secrets come in from files and stdin, and go out into files that nobody else can read. Never through argv. */
import { type FileHandle, open, readFile, unlink } from 'node:fs/promises'
import { failure, usageFailure } from './failure.ts'
import type { World } from './world.ts'

/** More than any secret that is acceptable, so that a wrong file is not read whole. */
const readLimit = 65_536

/** A reader of secrets; stdin can be read once. */
export function secretReader(world: World): (path: string, field: string) => Promise<string> {
  let stdinTaken = false
  return async (path, field) => {
    if (path !== '-') return secretOf(await readBytes(path, field), field)
    if (stdinTaken) throw usageFailure("'-' (stdin) can be given once")
    stdinTaken = true
    return secretOf(await readStdin(world, field), field)
  }
}

async function readBytes(path: string, field: string): Promise<Uint8Array> {
  try {
    return await readFile(path)
  } catch (cause) {
    throw Object.assign(failure('file_unreadable', { field }), { cause })
  }
}

async function readStdin(world: World, field: string): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of world.stdin) {
    chunks.push(Buffer.from(chunk))
    size += chunk.length
    if (size > readLimit) throw failure('bad_secret', { field })
  }
  return Buffer.concat(chunks)
}

/** Editors and `echo` end a file with a newline that is no part of the secret. */
function secretOf(bytes: Uint8Array, field: string): string {
  if (bytes.length > readLimit) throw failure('bad_secret', { field })
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
      .decode(bytes)
      .replace(/\r?\n$/, '')
  } catch (cause) {
    throw Object.assign(failure('bad_secret', { field }), { cause })
  }
}

/**
 * Makes the file first (new, 0600), then lets `produce` make the secret, so that no secret is made that cannot be
 * kept. When `produce` throws, the file goes again.
 */
export async function intoSecretFile<T>(
  path: string,
  field: string,
  produce: () => Promise<{ readonly secret: string; readonly value: T }>,
): Promise<T> {
  const file = await createFile(path, field)
  try {
    const { secret, value } = await produce()
    await file.writeFile(`${secret}\n`)
    await file.sync()
    return value
  } catch (thrown) {
    await unlink(path)
    throw thrown
  } finally {
    await file.close()
  }
}

async function createFile(path: string, field: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600)
  } catch (cause) {
    throw Object.assign(failure('file_not_written', { field }), { cause })
  }
}
