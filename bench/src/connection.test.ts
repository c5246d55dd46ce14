import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { Connection } from './connection.ts'

let server: Server | undefined
afterEach(() => server?.close())

/** Answers each request with these pieces, each in a turn of its own. */
async function answering(...pieces: string[]): Promise<URL> {
  server = createServer((socket: Socket) => {
    socket.setNoDelay(true)
    socket.on('data', async () => {
      for (const piece of pieces) {
        socket.write(piece)
        await new Promise((resolve) => setImmediate(resolve))
      }
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)
}

const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'

test.each([
  ['one piece', [`${head}Content-Length: 5\r\n\r\nhello`]],
  ['many pieces', ['HTTP/1.1 20', '0 OK\r\nContent-', 'Length: 5\r\n', '\r\nhe', 'l', 'lo']],
  ['chunks', [`${head}Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n`]],
  [
    'split chunks',
    [`${head}Transfer-Encoding: chunked\r\n\r\n2\r\nh`, 'e\r\n3\r', '\nllo\r\n0\r\n\r\n'],
  ],
])('reads an answer that comes in %s, twice on one connection', async (_name, pieces) => {
  const connection = await Connection.open(await answering(...pieces), {})
  for (let turn = 0; turn < 2; turn++) {
    const { status, body } = await connection.request('{}')
    expect([status, body.toString()]).toEqual([200, 'hello'])
  }
  connection.close()
})

test('a connection that ends without an answer is an error', async () => {
  const url = await answering('HTTP/1.1 200 OK\r\n')
  server?.on('connection', (socket) => socket.on('data', () => socket.end()))
  const connection = await Connection.open(url, {})
  await expect(connection.request('{}')).rejects.toThrow('closed')
})
