import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readlinkSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type PeerProcess, peerProcess } from './peer-process.ts'

let folder: string
let server: Server
let path: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-peer-'))
  path = join(folder, 's')
  server = createServer({ pauseOnConnect: true })
  await new Promise<void>((resolve) => server.listen(path, resolve))
})
afterEach(async () => {
  await new Promise((resolve) => server.close(resolve))
  rmSync(folder, { recursive: true })
})

const connect = `const s=require('net').connect(process.argv[1]);s.on('close',()=>process.exit()).resume()`

/** The peer, looked at while a process of its own is connected. */
async function peerOf(
  wrap: readonly string[],
): Promise<{ pid: number; peer: PeerProcess | undefined }> {
  const [program = '', ...words] = [...wrap, process.execPath, '-e', connect, path]
  const child = spawn(program, words)
  const [socket] = (await once(server, 'connection')) as [Socket]
  const peer = peerProcess(socket)
  socket.destroy()
  await once(child, 'exit')
  return { pid: child.pid as number, peer }
}

const own = (kind: string) => /\d+/.exec(readlinkSync(`/proc/self/ns/${kind}`))?.[0]

test('tells the process, the user and the namespaces of who connected', async () => {
  const { pid, peer } = await peerOf([])
  expect(peer).toMatchObject({ pid, uid: process.getuid?.() })
  for (const kind of ['user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup'] as const)
    expect(peer?.namespaces.get(kind), kind).toBe(own(kind))
})

test('tells a process in namespaces of its own from one of the host', async () => {
  const { peer } = await peerOf(['unshare', '--user', '--map-root-user', '--net'])
  expect(peer?.namespaces.get('net')).not.toBe(own('net'))
  expect(peer?.namespaces.get('user')).not.toBe(own('user'))
  expect(peer?.namespaces.get('pid')).toBe(own('pid'))
})

test('whoever has ended is nobody', async () => {
  const child = spawn(process.execPath, ['-e', connect, path])
  const [socket] = (await once(server, 'connection')) as [Socket]
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(peerProcess(socket)).toBeUndefined()
  socket.destroy()
})
