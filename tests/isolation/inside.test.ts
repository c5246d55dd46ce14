/** From inside of a real worker that is at work: what it can reach of its machine, and what it does nevertheless. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newWebhookSecret } from '@sallyport/protocol/node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectAndGrant, type OpenSession } from '../harness/setup-connection.ts'
import { addWebhook, rotated } from '../keys/key-world.ts'
import { RawGuest } from '../system/raw-guest.ts'
import { startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'
import { WebhookReceiver } from '../upstreams/webhook-receiver.ts'
import type { Attempt } from './inside/attempts.ts'
import { isolatedSuite } from './isolated-suite.ts'
import { ProbedSallyport } from './probed-sallyport.ts'

/** What must be denied, by the name under which it is told. */
function reaching({ sallyport, root }: ProbedSallyport, outside: string): Record<string, Attempt> {
  const { dataDir, pid } = sallyport
  const data = (...path: string[]) => join(dataDir, ...path)
  return {
    'the database': { kind: 'read', path: data('sallyport.db') },
    'the key that signs intents': { kind: 'read', path: data('gateway', 'gateway.pem') },
    'the key of the authority': { kind: 'read', path: data('gateway', 'authority.pem') },
    'the key of the journal': { kind: 'read', path: data('gateway', 'journal.key') },
    'the data key': { kind: 'read', path: data('gateway', 'data.key') },
    'the token of the administrator': { kind: 'read', path: data('admin-token') },
    'its own log': { kind: 'write', path: data('gateway', 'worker.log') },
    'the register of workers': { kind: 'read', path: data('gateway', 'workers.json') },
    'the data folder': { kind: 'list', path: dataDir },
    'the files of the machine': { kind: 'list', path: '/usr/bin' },
    'the accounts of the machine': { kind: 'read', path: '/etc/passwd' },
    'files by its own root': { kind: 'read', path: '/proc/self/root/etc/passwd' },
    'its own memory': { kind: 'read', path: '/proc/self/maps' },
    'the processes of the machine': { kind: 'list', path: '/proc' },
    'the environment of the gateway': { kind: 'read', path: `/proc/${pid}/environ` },
    'the gateway, by a signal': { kind: 'signal', pid },
    'a file in the data folder': { kind: 'write', path: data('made') },
    'a file beside its program': { kind: 'write', path: join(root, 'apps/worker/src/made.ts') },
    'a file of somebody else': { kind: 'write', path: outside },
    'a program': { kind: 'spawn', path: process.execPath },
    'a shell': { kind: 'spawn', path: '/bin/sh' },
    'a thread': { kind: 'thread' },
    // Which Node lets it: the filter of system calls does not.
    'the interfaces of the machine': { kind: 'netlink' },
  }
}

/** What a worker needs: were it denied, the rest would prove nothing. */
function needed({ sallyport: { dataDir } }: ProbedSallyport): Attempt[] {
  const own = join(dataDir, 'worker')
  return [
    { kind: 'read', path: join(own, 'vault.key') },
    { kind: 'list', path: own },
    { kind: 'write', path: join(own, 'made') },
    { kind: 'read', path: '/etc/hosts' },
  ]
}

const folder = join(tmpdir(), `sallyport-outside-${process.pid}`)
const outside = join(folder, 'file')
beforeAll(() => {
  mkdirSync(folder)
  writeFileSync(outside, '')
})
afterAll(() => rmSync(folder, { recursive: true }))

await isolatedSuite('from inside of the worker', () => {
  let probed: ProbedSallyport
  let upstream: Upstream
  let session: OpenSession
  beforeAll(async () => {
    upstream = await startUpstream()
    probed = await ProbedSallyport.start(['--worker-isolation', 'require'])
    session = await connectAndGrant(probed.sallyport, {
      name: 'lab',
      url: upstream.url,
      token: 'token-0123456789',
      profile: 'p',
      read: ['counter_read'],
    })
  })
  afterAll(async () => {
    await probed?.remove()
    await upstream?.close()
  })
  const call = async () => {
    const endpoint = `${probed.sallyport.guestUrl}/mcp/lab`
    return await new RawGuest({ endpoint, token: session.token, era: 'legacy' }).call(
      'counter_read',
      '{}',
    )
  }

  test('nothing of the gateway and the machine is reached, while its own is', async () => {
    const attempts = reaching(probed, outside)
    const { tried, uid, environment } = await probed.tryInside([
      ...Object.values(attempts),
      ...needed(probed),
    ])
    const names = Object.keys(attempts)
    const reached = names.filter((_, index) => tried[index]?.came === 'ok')
    expect(reached).toEqual([])
    expect(tried.slice(names.length).map(({ came }) => came)).toEqual(['ok', 'ok', 'ok', 'ok'])
    expect(uid).not.toBe(0)
    expect(environment.filter((name) => name !== 'PWD')).toEqual([])
  })

  test('it says that all layers are on, and doctor warns of none', async () => {
    const response = await fetch(`${probed.sallyport.url}/readyz`)
    const { worker } = (await response.json()) as { worker: { isolation: object } }
    expect(worker.isolation).toMatchObject({
      files: 'on',
      processes: 'on',
      user: 'on',
      privileges: 'on',
      system_calls: 'on',
      permission: 'on',
      environment: 'on',
    })
    const { items } = await probed.sallyport.api('doctor.run')
    const found = items.filter(({ id }) => id.startsWith('worker-isolation'))
    expect(found).toMatchObject([{ id: 'worker-isolation', state: 'ok' }])
  })

  test('calls, webhooks and a rotation of its key work', async () => {
    expect((await call()).isError).toBe(false)
    const receiver = await WebhookReceiver.start({ secret: newWebhookSecret() })
    try {
      const id = await addWebhook(probed.sallyport, 'pager', receiver.url)
      const before = (await probed.sallyport.api('vault.show')).kid
      await probed.sallyport.api('keys.rotate')
      await rotated(probed.sallyport)
      expect((await probed.sallyport.api('vault.show')).kid).not.toBe(before)
      const sent = await probed.sallyport.api('webhook.test', { id })
      expect(sent).toMatchObject({ lastFailure: null })
    } finally {
      await receiver.close()
    }
    expect((await call()).isError).toBe(false)
  })

  test('a gateway that was killed adopts it as it is, and one that wants it otherwise does not', async () => {
    const { sallyport } = probed
    const before = sallyport.workerPid()
    await sallyport.kill()
    await sallyport.restart({ args: ['--worker-isolation', 'require'] })
    expect(sallyport.workerPid()).toBe(before)
    await sallyport.kill()
    await sallyport.restart({ args: ['--worker-isolation', 'none'] })
    expect(sallyport.workerPid()).not.toBe(before)
    expect(sallyport.processes()).toHaveLength(2)

    // The control of all of it: the same attempts, in the same folder, without walls.
    const attempts = reaching(probed, outside)
    const { tried } = await probed.tryInside([...Object.values(attempts), ...needed(probed)])
    expect(tried.filter(({ came }) => came !== 'ok')).toEqual([])
    const { items } = await sallyport.api('doctor.run')
    const warned = items.filter(({ id }) => id.startsWith('worker-isolation:'))
    expect(warned.map(({ id }) => id)).toContain('worker-isolation:permission')
    expect(warned.every(({ state, next }) => state === 'warning' && next !== null)).toBe(true)
    expect((await call()).isError).toBe(false)
  })
})
