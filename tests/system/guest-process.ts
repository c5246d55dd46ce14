/**
 * A guest as a process of its own: the official client, told on stdin where to go and what to call. Writes one JSON line
 * for each call, with everything the client got to know about it.
 */
import { text } from 'node:stream/consumers'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

export interface GuestJob {
  readonly endpoint: string
  readonly token: string
  readonly era: 'legacy' | 'modern'
  readonly calls: readonly { readonly name: string; readonly arguments: Record<string, unknown> }[]
}

const job = JSON.parse(await text(process.stdin)) as GuestJob
const mode = job.era === 'legacy' ? 'legacy' : { pin: '2026-07-28' }
const client = new Client({ name: 'guest', version: '1' }, { versionNegotiation: { mode } })
const requestInit = { headers: { authorization: `Bearer ${job.token}` } }
await client.connect(new StreamableHTTPClientTransport(new URL(job.endpoint), { requestInit }))

const write = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`)
write(await client.listTools())
for (const call of job.calls) {
  const progress: unknown[] = []
  const onprogress = (told: unknown) => void progress.push(told)
  try {
    write({ result: await client.callTool(call, { onprogress }), progress })
  } catch (thrown) {
    write({ thrown: String(thrown), progress })
  }
}
await client.close()
