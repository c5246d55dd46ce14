/** The lines of a journal, from where they are. */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { failure } from '../failure.ts'
import type { Run } from '../run.ts'

export interface Part {
  readonly lines: readonly string[]
  /** After the last part: where a later reading goes on. */
  readonly resume: string | null
}

/** Of the running Sallyport. */
export async function* journalOf(
  call: Run['call'],
  asked: { readonly since?: string; readonly resume?: string | undefined },
): AsyncGenerator<Part> {
  let { next, ...part } = await call('audit.export', { query: asked })
  yield part
  while (next !== null) {
    ;({ next, ...part } = await call('audit.export', { query: { next } }))
    yield part
  }
}

/** Of a file. Throws `file_unreadable`. */
export async function* journalIn(path: string): AsyncGenerator<string> {
  try {
    const input = createReadStream(path, 'utf8')
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }))
      if (line !== '') yield line
  } catch (cause) {
    throw Object.assign(failure('file_unreadable', { field: '--file' }), { cause })
  }
}
