import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Session, SessionSandbox } from '@sallyport/core'
import { namespaceKinds, type SandboxEvidence, type SessionId } from '@sallyport/protocol'
import { namespacesOf } from '@sallyport/protocol/node'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  exampleEvidence,
  exampleSandbox,
} from '../../../../packages/store/src/contract/sandbox-examples.ts'
import { identifyProcess } from '../worker/process-identity.ts'
import { admitPeers } from './admit-peer.ts'

let folder: string
let server: Server
let path: string
const children: ChildProcess[] = []
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-admit-'))
  path = join(folder, 's')
  server = createServer({ pauseOnConnect: true })
  await new Promise<void>((resolve) => server.listen(path, resolve))
})
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
  await new Promise((resolve) => server.close(resolve))
  rmSync(folder, { recursive: true })
})

/** A process in namespaces of its own that connects when it is told where, and stays. */
const program = `process.stdin.on('data', (at) => require('net').connect(String(at)).resume())`
async function guest(walls: readonly string[] = ['--user', '--net']): Promise<ChildProcess> {
  const enter = walls.length > 0 ? ['unshare', ...walls] : []
  const [first = '', ...words] = [...enter, process.execPath, '-e', program]
  const child = spawn(first, words, { stdio: ['pipe', 'ignore', 'inherit'] })
  children.push(child)
  const own = namespacesOf(process.pid).get('net')
  const isApart = () => namespacesOf(child.pid as number).get('net') !== own
  if (walls.length > 0) await expect.poll(isApart, { timeout: 10_000 }).toBe(true)
  return child
}

async function connected(child: ChildProcess): Promise<Socket> {
  child.stdin?.write(path)
  const [socket] = (await once(server, 'connection')) as [Socket]
  return socket
}

function evidenceOf({ pid = 0 }: ChildProcess, more: Partial<SandboxEvidence> = {}) {
  const born = identifyProcess(pid)?.born
  if (!born) throw new Error('no /proc')
  const found = namespacesOf(pid)
  const uid = process.getuid?.() ?? -1
  return exampleEvidence({
    isolation: 'bubblewrap',
    process: { pid, ...born },
    namespaces: namespaceKinds.map((kind) => ({ kind, guest: found.get(kind) ?? '', host: '1' })),
    uids: [uid, uid, uid, uid],
    ...more,
  })
}

function admits(
  socket: Socket,
  evidence: SandboxEvidence | null,
  given: { isolation?: Session['isolation']; provedAt?: number | null } = {},
): Promise<boolean> {
  const { isolation = 'bubblewrap', provedAt = 5 } = given
  const sandbox: SessionSandbox = exampleSandbox({ evidence, provedAt })
  const store = {
    sessions: { get: async () => ({ isolation }) as Session },
    sandboxes: { get: async () => (isolation === 'external' ? undefined : sandbox) },
  }
  const ask = admitPeers(store as unknown as Parameters<typeof admitPeers>[0], 4)
  return ask('ses_1' as SessionId, socket).finally(() => socket.destroy())
}

test('who is in the verified namespaces comes in; another process of the same user does not', async () => {
  const inside = await guest()
  const evidence = evidenceOf(inside)
  expect(await admits(await connected(inside), evidence)).toBe(true)
  const outside = await guest([])
  expect(await admits(await connected(outside), evidence)).toBe(false)
})

test('who is in another sandbox does not come in', async () => {
  const [one, two] = [await guest(), await guest()]
  expect(await admits(await connected(two), evidenceOf(one))).toBe(false)
  expect(await admits(await connected(two), evidenceOf(two))).toBe(true)
})

test('who has entered but one of the namespaces does not come in', async () => {
  const inside = await guest()
  const evidence = evidenceOf(inside)
  const namespaces = evidence.namespaces.map((one) =>
    one.kind === 'mnt' ? { ...one, guest: '7' } : one,
  )
  expect(await admits(await connected(inside), { ...evidence, namespaces })).toBe(false)
})

test('before the evidence was found to match nobody comes in', async () => {
  const inside = await guest()
  expect(await admits(await connected(inside), evidenceOf(inside), { provedAt: null })).toBe(false)
  expect(await admits(await connected(inside), null)).toBe(false)
  // To the gateway of before.
  expect(await admits(await connected(inside), evidenceOf(inside), { provedAt: 3 })).toBe(false)
})

test('once the first process has gone, its namespaces are nobody’s', async () => {
  const inside = await guest()
  const first = await guest()
  const { process } = evidenceOf(first)
  first.kill('SIGKILL')
  await once(first, 'exit')
  expect(await admits(await connected(inside), evidenceOf(inside, { process }))).toBe(false)
})

test('without a sandbox the user decides; outside of ours its creator has vouched', async () => {
  const outside = await guest([])
  const evidence = evidenceOf(outside)
  const none = { isolation: 'none' } as const
  expect(await admits(await connected(outside), evidence, none)).toBe(true)
  const uids = [4242, 4242, 4242, 4242]
  expect(await admits(await connected(outside), { ...evidence, uids }, none)).toBe(false)
  expect(await admits(await connected(outside), null, { isolation: 'external' })).toBe(true)
})
