/** An agent of few words: a program for the guest that starts the shim it was configured with and calls tools. */
import { z } from 'zod'

export interface ToolAsked {
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
}

/** Plain JavaScript for any Node. Says the result of each call on a line of its own, `null` for one that was not answered. */
export function guestClient(calls: readonly ToolAsked[], patienceMs = 20_000): string {
  return `const calls = ${JSON.stringify(calls)}, patienceMs = ${patienceMs}\n${program}`
}

const program = `
const { spawn } = require('node:child_process'), fs = require('node:fs'), { createInterface } = require('node:readline')
const { command, args } = JSON.parse(fs.readFileSync(process.env.SANDBOX_CHANNEL + '/mcp.json', 'utf8')).mcpServers.sallyport
const shim = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
const waiting = new Map()
createInterface({ input: shim.stdout }).on('line', (line) => {
  const { id, result, error } = JSON.parse(line)
  if (waiting.has(id)) waiting.get(id)(result ?? { error })
})
const send = (message) => shim.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
const ask = (id, method, params) => new Promise((resolve) => {
  waiting.set(id, resolve)
  setTimeout(() => resolve(null), patienceMs).unref()
  send({ id, method, params })
})
const main = async () => {
  await ask(0, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'guest', version: '1' } })
  send({ method: 'notifications/initialized' })
  for (const [index, call] of calls.entries()) {
    const result = await ask(index + 1, 'tools/call', call)
    fs.writeSync(1, JSON.stringify(result) + '\\n')
  }
  shim.kill()
  process.exit(0)
}
main()
`

const result = z.object({
  isError: z.boolean().optional(),
  content: z.array(z.object({ text: z.string() })).optional(),
  error: z.unknown().optional(),
})
export type CallResult = z.infer<typeof result> | null

export function resultsIn(output: string): CallResult[] {
  return output
    .split('\n')
    .filter(Boolean)
    .map((line) => result.nullable().parse(JSON.parse(line)))
}

/** An answer of the upstream, and not a refusal on the way. */
export const isAnswer = (found: CallResult | undefined): boolean =>
  found?.content !== undefined && found.isError !== true
