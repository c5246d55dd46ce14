/** The requests that are measured: MCP 2026-07-28 over plain HTTP, one message a request. */
const meta = JSON.stringify({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
})

export function methodHeaders(method: string, name?: string): Record<string, string> {
  const headers = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': method }
  return name === undefined ? headers : { ...headers, 'Mcp-Name': name }
}

export const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":${meta}}}`

export const payloads = ['200 B', '64 KiB text', '64 KiB objects'] as const
export type Payload = (typeof payloads)[number]

export interface Call {
  readonly body: string
  /** Stands somewhere in the right answer and in no other. */
  readonly nonce: string
}

/** Makes calls that differ in id and nonce only, so that making them costs nothing. */
export function callMaker(tool: string, payload: Payload): (id: number) => Call {
  const filling = fillingOf(payload)
  const head = `","method":"tools/call","params":{"_meta":${meta},"name":"${tool}","arguments":{"nonce":"`
  const tail = `",${filling}}}}`
  return (id) => {
    const nonce = `n${id.toString(36).padStart(9, '0')}`
    return { nonce, body: `{"jsonrpc":"2.0","id":"${id}${head}${nonce}${tail}` }
  }
}

function fillingOf(payload: Payload): string {
  switch (payload) {
    case '200 B':
      return `"text":"${'x'.repeat(170)}"`
    case '64 KiB text':
      return `"text":"${'x'.repeat(65_500)}"`
    case '64 KiB objects': {
      const items = Array.from({ length: 700 }, (_, id) => ({
        id,
        name: `item number ${id}`,
        tags: ['alpha', 'beta'],
        open: id % 2 === 0,
        weight: id / 4,
      }))
      return `"items":${JSON.stringify(items)}`
    }
  }
}
