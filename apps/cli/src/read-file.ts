/** Files that hold no secret: schemas, arguments, policies. */
import { readFile } from 'node:fs/promises'
import { parseExact } from '@sallyport/protocol'
import { failure } from './failure.ts'

/** Throws `file_unreadable`, also for what is not UTF-8. */
export async function readText(path: string, field: string): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path))
  } catch (cause) {
    throw Object.assign(failure('file_unreadable', { field }), { cause })
  }
}

/** Throws `bad_file` for what is not JSON, `arguments_not_exact` for what two readers could read differently. */
export async function readJson(path: string, field: string): Promise<unknown> {
  const parsed = parseExact(await readText(path, field))
  if (parsed.ok) return parsed.value
  if (parsed.problem === 'syntax') throw failure('bad_file', { field, next: 'It must be JSON.' })
  throw failure('arguments_not_exact', { field: `${field} ${parsed.path}`.trimEnd() })
}
