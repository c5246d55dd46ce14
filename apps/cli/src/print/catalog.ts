/** A catalog as its reviewer reads it. Everything a server said is escaped. */
import type { Answer } from '@sallyport/protocol'
import type { Style } from './style.ts'
import { cellText, table } from './table.ts'

type Catalog = Answer<'catalog.show'>
type Tool = Catalog['tools'][number]

export function describeCatalog(style: Style, catalog: Catalog): string {
  const revision = catalog.number === null ? 'draft' : `revision ${catalog.number}`
  const head = `${cellText(catalog.connection)}, ${revision}, ${catalog.state}, MCP ${cellText(catalog.protocolVersion)}`
  const rows = table(
    style,
    ['DECISION', 'ACCESS', 'TOOL', 'SHOWN AS', 'HINTS OF THE SERVER'],
    catalog.tools.map((tool) => [
      tool.state,
      tool.access,
      tool.name,
      tool.exposedName,
      hints(tool.annotations),
    ]),
  )
  const texts = catalog.tools.map((tool) => toolText(style, tool))
  return [style.strong(head), rows, ...texts].join('\n\n')
}

/** What the server says about itself; never authority. */
function hints(annotations: Tool['annotations']): string {
  if (typeof annotations !== 'object' || annotations === null) return ''
  return Object.entries(annotations)
    .filter(([, value]) => typeof value === 'boolean')
    .map(([name, value]) => (value ? name : `not ${name}`))
    .join(', ')
}

function toolText(style: Style, tool: Tool): string {
  const lines = [style.strong(cellText(tool.name))]
  for (const text of [tool.title, tool.description])
    if (text) lines.push(...text.split('\n').map((line) => `  ${cellText(line)}`))
  lines.push(`  takes ${cellText(parameters(tool.inputSchema))}`)
  for (const { kind, where, text } of tool.flags)
    lines.push(style.warn(`  ! ${cellText(kind)} in ${cellText(where)}: ${cellText(text)}`))
  if (tool.refusedBecause !== null)
    lines.push(style.bad(`  cannot be included: ${cellText(tool.refusedBecause)}`))
  if (tool.note !== null) lines.push(`  note: ${cellText(tool.note)}`)
  return lines.join('\n')
}

function parameters(schema: Tool['inputSchema']): string {
  const { properties, required } = (schema ?? {}) as {
    properties?: Record<string, unknown>
    required?: unknown
  }
  const names = Object.keys(properties ?? {})
  const demanded = new Set(Array.isArray(required) ? required : [])
  return names.length === 0
    ? 'no named arguments'
    : names.map((name) => (demanded.has(name) ? name : `${name}?`)).join(', ')
}

export function describeDiff(style: Style, diff: Answer<'catalog.diff'>): string {
  const against = diff.against === null ? 'nothing published' : `revision ${diff.against}`
  if (diff.same) return `The server lists what is in ${against}.`
  return [
    `Against ${against}:`,
    ...diff.added.map((name) => style.good(`+ ${cellText(name)}`)),
    ...diff.removed.map((name) => style.bad(`- ${cellText(name)}`)),
    ...diff.renamed.map(({ from, to }) =>
      style.warn(`> ${cellText(from)} is now ${cellText(to)} (same schema)`),
    ),
    ...diff.changed.map(({ name, what }) => style.warn(`~ ${cellText(name)}: ${what.join(', ')}`)),
  ].join('\n')
}
