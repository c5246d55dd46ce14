/**
 * The journal as lines, part by part. A run has an end that is fixed when it begins, and everything before that end is
 * there: what checkpoints list, and the pages that other events depend on.
 */
import {
  checkpointLine,
  coveredWithinMs,
  endLine,
  headerLine,
  keyLine,
  pageLine,
} from '@sallyport/protocol/node'
import type { Reads, Store } from '../store.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { JournalCheckpoint, KeptPage } from './journal-store.ts'

export interface ExportDeps {
  readonly store: Store
  readonly checkpoints: Pick<Checkpoints, 'write' | 'newest'>
  readonly now: () => number
}

export interface ExportPart {
  readonly lines: string[]
  /** Where the next part begins; null after the last. */
  readonly next: string | null
  /** After the last part: where a later run goes on from here. */
  readonly resume: string | null
}

/** Done up to `after`, to be done up to `until`: positions of pages, sequences of checkpoints. */
interface Run {
  readonly after: Mark
  readonly until: Mark
  /** The newest checkpoint that this gateway knew of when the run began, kept or not. */
  readonly known: number
}
interface Mark {
  readonly position: number
  readonly checkpoint: number
}

const start: Mark = { position: 0, checkpoint: 0 }
const pagesAtOnce = 8
const checkpointsAtOnce = 200
const partBytes = 512 * 1024

/** `since`: ms since 1970. `resume` and `next` are those of another part. */
export async function exportJournal(
  deps: ExportDeps,
  asked: { readonly since?: number; readonly resume?: string; readonly next?: string },
): Promise<ExportPart> {
  if (asked.next !== undefined) return nextPart(deps, readRun(asked.next), [])
  const from = asked.since === undefined ? undefined : await baseOf(deps.store, asked.since)
  const after = asked.resume === undefined ? (from?.after ?? start) : readMark(asked.resume)
  const end = await fixEnd(deps)
  const keys = await deps.store.journal.keys()
  const header = headerLine({ v: 1, at: deps.now(), from: from?.header ?? null })
  return nextPart(deps, { after, ...end }, [header, ...keys.map(keyLine)])
}

/**
 * A part that begins with the newest checkpoint before `since`. What that one does not cover yet may be older than it:
 * so pages begin with what was there some time before it.
 */
async function baseOf({ journal }: Reads, since: number) {
  const base = await journal.newestCheckpoint(since)
  const earlier = base && (await journal.newestCheckpoint(base.at - coveredWithinMs))
  if (!base || !earlier) return undefined
  return {
    header: { checkpoint: base.sequence },
    after: { position: earlier.position, checkpoint: base.sequence - 1 },
  }
}

/** Pages are held for a moment, so that none turns up later before the end that is fixed here. */
async function fixEnd({ store, checkpoints }: ExportDeps): Promise<Omit<Run, 'after'>> {
  await checkpoints.write().catch(() => {
    // What is wrong with the chain is found by whoever reads it; what could not be listed is told as not covered.
  })
  const known = checkpoints.newest ?? 0
  return store.transact(async (tx) => {
    const checkpoint = (await tx.journal.newestCheckpoint())?.sequence ?? 0
    await tx.journal.holdPages()
    const position = await tx.journal.lastPosition()
    return { until: { position, checkpoint }, known: Math.max(known, checkpoint) }
  })
}

async function nextPart({ store }: ExportDeps, run: Run, lines: string[]): Promise<ExportPart> {
  const { until, known } = run
  const pages = await readPages(store, run.after.position, until.position)
  const reached = pages.at(-1)?.position ?? until.position
  const isLast = reached >= until.position
  const due = await readCheckpoints(store, run, isLast ? Number.MAX_SAFE_INTEGER : reached)
  lines.push(...inOrder(pages, due))
  const checkpoint = due.at(-1)?.sequence ?? run.after.checkpoint
  if (!isLast || due.length === checkpointsAtOnce)
    return {
      lines,
      next: writeRun({ ...run, after: { position: reached, checkpoint } }),
      resume: null,
    }
  lines.push(endLine({ checkpoint: known || null }))
  return { lines, next: null, resume: writeMark(until) }
}

/** The next ones, as far as they cover nothing beyond `position`. */
async function readCheckpoints({ journal }: Reads, { after, until }: Run, position: number) {
  const found = await journal.checkpoints(after.checkpoint, until.checkpoint, checkpointsAtOnce)
  const later = found.findIndex((one) => one.position > position)
  return later < 0 ? found : found.slice(0, later)
}

async function readPages({ journal }: Reads, after: number, until: number): Promise<KeptPage[]> {
  const pages: KeptPage[] = []
  for (let bytes = 0; bytes < partBytes; ) {
    const more = await journal.pages(pages.at(-1)?.position ?? after, until, pagesAtOnce)
    pages.push(...more)
    bytes += more.reduce((sum, { text }) => sum + text.length, 0)
    if (more.length < pagesAtOnce) break
  }
  return pages
}

/** Each checkpoint after the pages that it covers. */
function inOrder(pages: readonly KeptPage[], checkpoints: readonly JournalCheckpoint[]): string[] {
  const lines: string[] = []
  let at = 0
  for (const checkpoint of checkpoints) {
    for (let page = pages[at]; page && page.position <= checkpoint.position; page = pages[++at])
      lines.push(pageLine(page))
    lines.push(checkpointLine(checkpoint))
  }
  return [...lines, ...pages.slice(at).map(pageLine)]
}

const writeMark = ({ position, checkpoint }: Mark): string => `${position}.${checkpoint}`
const writeRun = ({ after, until, known }: Run): string =>
  `${writeMark(after)}-${writeMark(until)}-${known}`

function readMark(text: string): Mark {
  const [position = 0, checkpoint = 0] = text.split('.').map(Number)
  return { position, checkpoint }
}

function readRun(text: string): Run {
  const [after = '', until = '', known = ''] = text.split('-')
  return { after: readMark(after), until: readMark(until), known: Number(known) }
}
