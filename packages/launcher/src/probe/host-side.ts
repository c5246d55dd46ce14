/** What a guest must not reach, set up for real, and reached from here first: a denial proves nothing where nothing was. */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type Server } from 'node:net'

export interface HostTarget {
  readonly name: string
  /** As `net.connect` takes it. */
  readonly to: { readonly host: string; readonly port: number } | { readonly path: string }
}

export interface HostSide {
  readonly targets: readonly HostTarget[]
  close(): Promise<void>
}

/** Rejects when this machine cannot reach its own: then nothing could be learned. Where there is no IPv6 it is left out. */
export async function openHostSide(): Promise<HostSide> {
  const servers: Server[] = []
  const targets: HostTarget[] = []
  for (const host of ['127.0.0.1', '::1']) {
    const server = createServer((socket) => socket.end())
    if (!(await listens(server, { host, port: 0 }))) continue
    servers.push(server)
    const { port } = server.address() as { port: number }
    targets.push({ name: `TCP to ${host} of the host`, to: { host, port } })
  }
  // Names that begin with NUL are in no folder: only the network namespace keeps them apart.
  const path = `\0sallyport-${randomBytes(8).toString('hex')}`
  const abstract = createServer((socket) => socket.end())
  if (await listens(abstract, { path })) {
    servers.push(abstract)
    targets.push({ name: 'an abstract socket of the host', to: { path } })
  }
  for (const { to } of targets) await reach(to)
  return {
    targets,
    close: async () => {
      for (const server of servers) await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function listens(server: Server, at: { host?: string; port?: number; path?: string }) {
  server.listen(at)
  try {
    await once(server, 'listening')
    return true
  } catch {
    return false
  }
}

async function reach(to: HostTarget['to']): Promise<void> {
  const socket = connect(to)
  await once(socket, 'connect')
  socket.destroy()
}
