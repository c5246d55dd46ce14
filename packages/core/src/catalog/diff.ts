/** What a person must know before a new revision is published. */
import { canonicalJson } from '@sallyport/protocol'
import type { CatalogTool } from './catalog.ts'

type Compared = Pick<
  CatalogTool,
  'name' | 'title' | 'description' | 'inputSchema' | 'outputSchema' | 'annotations' | 'digest'
>

const parts = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const
type Part = (typeof parts)[number]

export interface CatalogDifference {
  readonly added: string[]
  readonly removed: string[]
  /** Gone under one name and new under another with equal schemas. */
  readonly renamed: { readonly from: string; readonly to: string }[]
  readonly changed: { readonly name: string; readonly what: Part[] }[]
}

export function diffTools(
  published: readonly Compared[],
  listed: readonly Compared[],
): CatalogDifference {
  const before = new Map(published.map((tool) => [tool.name, tool]))
  const after = new Map(listed.map((tool) => [tool.name, tool]))
  const gone = published.filter(({ name }) => !after.has(name))
  const fresh = listed.filter(({ name }) => !before.has(name))
  const renamed = pairBySchema(gone, fresh)
  const from = new Set(renamed.map((pair) => pair.from))
  const to = new Set(renamed.map((pair) => pair.to))
  return {
    added: fresh.map(({ name }) => name).filter((name) => !to.has(name)),
    removed: gone.map(({ name }) => name).filter((name) => !from.has(name)),
    renamed,
    changed: listed.flatMap((tool) => {
      const old = before.get(tool.name)
      if (!old || old.digest === tool.digest) return []
      return [{ name: tool.name, what: parts.filter((part) => differs(old[part], tool[part])) }]
    }),
  }
}

function pairBySchema(
  gone: readonly Compared[],
  fresh: readonly Compared[],
): CatalogDifference['renamed'] {
  const bySchema = Map.groupBy(fresh, schemasOf)
  return gone.flatMap((old) => {
    const twin = bySchema.get(schemasOf(old))?.shift()
    return twin ? [{ from: old.name, to: twin.name }] : []
  })
}

function schemasOf({ inputSchema, outputSchema }: Compared): string {
  return canonicalJson([inputSchema, outputSchema ?? null])
}

function differs(a: unknown, b: unknown): boolean {
  return canonicalJson(a ?? null) !== canonicalJson(b ?? null)
}
