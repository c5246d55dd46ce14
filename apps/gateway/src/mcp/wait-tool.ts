/**
 * Our own server in a session's toolset: `wait_for_result`, with which a guest collects the outcome of a call that waits.
 * It sends nothing and changes nothing, so it is bound by no grant. Connections cannot take the name.
 */
import {
  argumentRules,
  type CollectRequest,
  effectiveArguments,
  SchemaCache,
  type Toolset,
} from '@sallyport/core'
import type { Failure } from './failure-result.ts'

/** Of the path `/mcp/sallyport`. */
export const ownConnection = 'sallyport'

const name = 'wait_for_result'

const inputSchema = {
  type: 'object',
  properties: {
    executionId: { type: 'string', description: 'As the answer that says "waiting" names it.' },
  },
  required: ['executionId'],
  additionalProperties: false,
}

const description =
  'Collects the outcome of an earlier call of this session whose answer was "waiting". Waits some time for it, and sends nothing to any server.'

/** A session that can write nothing has nothing to wait for. */
export function hasWaitTool({ tools }: Toolset): boolean {
  return tools.some(({ binding }) => binding.access === 'write')
}

/** Its name on a path, undefined on that of another connection. */
export function waitToolName(connection: string | null): string | undefined {
  if (connection === null) return `${ownConnection}__${name}`
  return connection === ownConnection ? name : undefined
}

/** As `tools/list` shows it: JSON text, or undefined where it is not. */
export function waitToolText(toolset: Toolset, connection: string | null): string | undefined {
  const shown = waitToolName(connection)
  if (shown === undefined || !hasWaitTool(toolset)) return undefined
  const annotations = { readOnlyHint: true }
  return JSON.stringify({ name: shown, description, inputSchema, annotations })
}

const rules = argumentRules(
  { catalogRoot: inputSchema, overlays: [], fixed: {}, byteLimit: 1_024 },
  new SchemaCache(),
)

/** The arguments, judged like those of any tool. */
export function readWaitArguments(
  argumentsText: string,
): Pick<CollectRequest, 'executionId'> | Failure {
  const read = effectiveArguments({ ...rules, argumentsText })
  if (read.ok) return JSON.parse(read.text)
  const { code, field, detail } = read
  return { kind: 'failure', executionId: null, code, field, detail }
}
