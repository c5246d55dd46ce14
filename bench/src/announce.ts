/** How a server process of the benchmark starts and says where it is. It ends with whoever started it. */
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export function announce(server: Server): void {
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () => {
    const { port } = server.address() as AddressInfo
    process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}/mcp` })}\n`)
  })
  process.once('disconnect', () => process.exit(0))
}
