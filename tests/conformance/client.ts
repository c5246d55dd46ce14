/**
 * What the conformance suite runs as "a client": a worker, ordered about by a gateway that has no store and no policy but
 * plays the part of both, and of the person in the browser. `node client.ts URL`; the suite says the rest by environment.
 */
import type { ListedTool } from '@sallyport/protocol/node'
import { ConformanceClient, type Context, type ToolToCall } from './conformance-client.ts'

const { MCP_CONFORMANCE_SCENARIO: scenario = '', MCP_CONFORMANCE_CONTEXT: context = '{}' } =
  process.env
const [url = ''] = process.argv.slice(2)
const words = JSON.parse(context) as Context & { readonly toolCalls?: readonly ToolToCall[] }

// The suite waits for the process, and nothing here may outlive a failure.
const failed = await run().then(
  () => undefined,
  (thrown: unknown) => thrown,
)
if (failed) process.stderr.write(`${failed}\n`)
process.exit(failed ? 1 : 0)

async function run(): Promise<void> {
  const client = await ConformanceClient.start(url, words)
  try {
    await useTools(client)
  } finally {
    await client.stop()
  }
}

async function useTools(client: ConformanceClient): Promise<void> {
  const isOfClients = scenario.startsWith('auth/client-credentials')
  if (isOfClients) await client.connectAsClient()
  const tools = await client.list()
  const calls = words.toolCalls ?? tools.map((tool) => ({ ...tool, arguments: fill(tool, tools) }))
  for (const call of calls) await client.call(call)
  // A server may think otherwise of its authorization server by the next time it is asked.
  if (scenario === 'auth/authorization-server-migration') await client.list()
}

/** Where the arguments matter and the suite does not say them. */
function fill({ name }: ListedTool, tools: readonly ListedTool[]): unknown {
  if (name === 'add_numbers') return { a: 5, b: 3 }
  if (name === 'valid_tool') return { region: 'us-west1' }
  if (name !== 'json_schema_echo') return {}
  return { schema: tools.find((one) => one.name === 'json_schema_2020_12_tool')?.inputSchema }
}
