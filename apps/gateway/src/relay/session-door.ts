/**
 * A Unix socket that only the guest of one session reaches, so it asks for no bearer. HTTP is served there as on the guest
 * endpoint; a stream that begins with a record is one on which requests travel side by side.
 */

import { rmSync } from 'node:fs'
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import { SallyportError } from '@sallyport/protocol'
import { guestServerOptions } from '../mcp/timing.ts'

export interface SessionDoorOptions {
  readonly path: string
  /** Rejects for what cannot be known, which is no. */
  readonly admits: (socket: Socket) => Promise<boolean>
  readonly report: (error: unknown, where: string) => void
  readonly handle: (req: IncomingMessage, res: ServerResponse) => void
  readonly onStream: (socket: Socket) => void
}

/** `judge` never rejects. */
const ignore = (): void => undefined

/** Two to five shims, with their calls beside each other. */
const connectionLimit = 256
/** For the first byte. */
const silentMs = 10_000

export interface SessionDoor {
  /** Ends what is open and removes the socket. */
  close(): Promise<void>
}

/** Rejects with `bad_guest_path` where it cannot listen. The socket is its user's alone from its first moment. */
export async function openSessionDoor(options: SessionDoorOptions): Promise<SessionDoor> {
  const { path, handle, onStream, admits, report } = options
  const http = createHttpServer(guestServerOptions, handle)
  http.on('checkContinue', handle)
  const sockets = new Set<Socket>()
  const admitted = (socket: Socket): void => {
    socket.once('data', (first: Buffer) => {
      socket.setTimeout(0)
      socket.removeAllListeners('timeout')
      socket.pause()
      socket.unshift(first)
      if (isRecords(first)) onStream(socket)
      else http.emit('connection', socket)
      socket.resume()
    })
    socket.resume()
  }
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    socket.setTimeout(silentMs, () => socket.destroy())
    judge(socket, admits, report).then((isAdmitted) => {
      if (isAdmitted) admitted(socket)
      else socket.destroy()
    }, ignore)
  })
  server.maxConnections = connectionLimit
  await listen(server, path)
  return {
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const socket of sockets) socket.destroy()
      await closed
      rmSync(path, { force: true })
    },
  }
}

async function judge(
  socket: Socket,
  admits: SessionDoorOptions['admits'],
  report: SessionDoorOptions['report'],
): Promise<boolean> {
  try {
    return await admits(socket)
  } catch (error) {
    report(error, 'socket of a session')
    return false
  }
}

/** No method of HTTP begins so. */
const isRecords = (first: Buffer): boolean => first[0] === 10 || first[0] === 123

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // It stays: an accept that fails later says nothing of what is served already.
    server.on('error', (cause) => reject(new SallyportError('bad_guest_path', { cause })))
    // Bound before `listen` returns: changing the mode afterwards would leave a moment.
    const mask = process.umask(0o177)
    try {
      server.listen({ path, backlog: 128 }, resolve)
    } finally {
      process.umask(mask)
    }
  })
}
