import { type ConnectionId, SallyportError } from '@sallyport/protocol'
import { checkMayManage } from '../connection/connection-access.ts'
import type { Deps } from '../deps.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import type { Catalog, CatalogTool } from './catalog.ts'
import { draftStates, newestDraft, saveCatalog } from './drafts.ts'
import { matchesGlob } from './glob.ts'

/** Patterns over upstream names; `exclude` goes before `include`, `write` before `read`. */
export interface Decisions {
  readonly version?: number | undefined
  readonly include: readonly string[]
  readonly exclude: readonly string[]
  readonly read: readonly string[]
  readonly write: readonly string[]
  /** Upstream name → note. */
  readonly notes: Readonly<Record<string, string>>
}

/**
 * Decides about tools of the newest draft, which is then in review. Throws `nothing_to_publish` without a draft,
 * `no_such_tool` for a pattern that matches nothing, `bad_schema` for a tool that cannot be included.
 */
export function reviewCatalog(
  { store }: Deps,
  actor: Actor,
  connectionId: ConnectionId,
  decisions: Decisions,
): Promise<Catalog> {
  return store.transact(async (tx) => {
    const confirmed = await confirmActor(tx, actor)
    const connection = checkMayManage(confirmed, await tx.connections.get(connectionId))
    const draft = await newestDraft(tx, connectionId)
    if (!draft) throw new SallyportError('nothing_to_publish')
    const moved = decisions.version !== undefined && decisions.version !== draft.version
    if (moved || draft.connectionRevision !== connection.revision)
      throw new SallyportError('conflict')
    const tools = await tx.catalogs.tools(draft.id)
    checkPatterns(tools, decisions)
    const decided = tools.map((tool) => decide(tool, decisions))
    // First the row, by its version: a publication or a new listing at the same time goes before or after.
    const after = { ...draft, state: 'in_review', reviewedBy: confirmed.userId } as const
    const reviewed = await saveCatalog(tx, draft, after)
    await tx.catalogs.decide(draft.id, draftStates, decided)
    return reviewed
  })
}

/** A pattern that matches nothing is a slip of the pen that would pass for a decision. */
function checkPatterns(tools: readonly CatalogTool[], decisions: Decisions): void {
  for (const field of ['include', 'exclude', 'read', 'write'] as const) {
    decisions[field].forEach((pattern, index) => {
      if (!tools.some(({ name }) => matchesGlob(pattern, name)))
        throw new SallyportError('no_such_tool', { field: `${field}/${index}` })
    })
  }
  for (const name of Object.keys(decisions.notes)) {
    if (!tools.some((tool) => tool.name === name))
      throw new SallyportError('no_such_tool', { field: `notes/${name}` })
  }
}

function decide(tool: CatalogTool, decisions: Decisions): CatalogTool {
  const any = (patterns: readonly string[]): boolean =>
    patterns.some((pattern) => matchesGlob(pattern, tool.name))
  const isExcluded = any(decisions.exclude)
  const isIncluded = !isExcluded && any(decisions.include)
  if (isIncluded && tool.refusedBecause !== null)
    throw new SallyportError('bad_schema', { field: `tools/${tool.name}` })
  const isWrite = any(decisions.write)
  const note = Object.hasOwn(decisions.notes, tool.name) ? decisions.notes[tool.name] : undefined
  return {
    ...tool,
    decision: isExcluded ? 'exclude' : isIncluded ? 'include' : tool.decision,
    access: isWrite ? 'write' : any(decisions.read) ? 'read' : tool.access,
    note: note ?? tool.note,
  }
}
