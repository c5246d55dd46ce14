import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { request as ask, createServer, type IncomingMessage, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { digestOf } from '@sallyport/protocol/node'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { bubblewrap } from '../bubblewrap/bubblewrap.ts'
import { genericHarness } from '../harness/generic.ts'
import { modelUpstream } from '../model-relay/model-upstream.ts'
import { noSandbox } from '../none/none.ts'
import { runGuest } from '../run/run-guest.ts'
import type { RunEvent, RunRequest } from '../run/run-request.ts'
import type { SessionPort } from '../run/session-port.ts'
import type { GuestMount, Sandbox } from '../sandbox.ts'
import { sandboxSuite } from '../testing/sandbox-suite.ts'
import type { GuestReach } from './guest-reach.ts'

let root: string
let service: Server
let seen: IncomingMessage[]
let planned: unknown
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'sallyport-outlets-'))
  for (const name of ['workspace', 'data', 'runtime']) mkdirSync(join(root, name))
  seen = []
  service = createServer((ask, answer) => {
    seen.push(ask)
    ask.pipe(answer)
  })
  service.listen(0, '127.0.0.1')
  await once(service, 'listening')
})
afterEach(() => {
  service.closeAllConnections()
  service.close()
  rmSync(root, { recursive: true })
})

const denySet = { revision: 0, digest: digestOf({ revision: 0, entries: [] }), entries: [] }
const session = { id: 'ses_1', state: 'open', endReason: null, connections: [], unavailable: [] }

/** A gateway that agrees to everything. */
const port = {
  create: async (body) => {
    planned = body.sandbox?.plan
    return { ...session, token: 't', ownerKey: 'k', denySet } as never
  },
  show: async () => session as never,
  hear: async () => ({ ...session, prove: false, denySet: 0 }) as never,
  denySet: async () => denySet as never,
  confirm: async () => ({}) as never,
  end: async () => session as never,
} as SessionPort

const model = (): GuestReach['model'] => {
  const { port } = service.address() as { port: number }
  return { upstream: modelUpstream('openai', `http://127.0.0.1:${port}/v1`), key: 'the-key' }
}

interface Ran {
  readonly code: number
  readonly output: string
}

async function run(
  command: readonly string[],
  reach: GuestReach | undefined,
  sandbox: Sandbox = bubblewrap(),
  at: (event: RunEvent) => void = () => undefined,
  mounts: readonly GuestMount[] = [],
): Promise<Ran> {
  const shim = { node: process.execPath, program: process.execPath }
  const workspace = join(root, 'workspace')
  const { isolation } = sandbox
  let output = Promise.resolve('')
  const asked = { words: command, isolation, environment: {}, shim, workspace }
  const prepared = await genericHarness.prepare(asked)
  const request: RunRequest = {
    sandbox,
    port,
    session: { profile: 'p' },
    prepared: { ...prepared, mounts: [...prepared.mounts, ...mounts] },
    shim,
    ...(reach ? { reach } : {}),
    workspace,
    dataFolder: join(root, 'data'),
    stdio: ['ignore', 'pipe', 'inherit'],
    runtimeFolder: join(root, 'runtime'),
    stop: new AbortController().signal,
    told: (event) => {
      if (event.kind === 'released' && event.guest.stdout) output = text(event.guest.stdout)
      at(event)
    },
  }
  const { code } = await runGuest(request)
  return { code, output: await output }
}

const node = (program: string) => ['/opt/sallyport/node', '-e', program]
const askModel = `
fetch(process.env.SANDBOX_MODEL_URL + '/responses', { method: 'POST', body: 'question' })
  .then(async (got) => console.log(got.status, await got.text()))
  .catch((error) => console.log(error.cause?.code ?? error.code))`

const bySocket = `
const ask = (socketPath) => new Promise((resolve) => {
  require('node:http').request({ socketPath, path: '/v1/x', method: 'POST', agent: false }, (got) => resolve(got.resume().statusCode))
    .on('error', (error) => resolve(error.code)).end()
})`

/** The one that was made first. */
let channel = ''
function channelOf(): string {
  const names = readdirSync(join(root, 'runtime')).filter((one) => !one.endsWith('.json'))
  if (!names.some((name) => channel.endsWith(name))) channel = join(root, 'runtime', names[0] ?? '')
  return channel
}

/** As the user who launched it, and from none of its namespaces. */
const fromOutside = (socketPath: string) =>
  new Promise((resolve) => {
    ask({ socketPath, path: '/v1/x', method: 'POST' }, (got) => resolve(got.statusCode))
      .on('error', () => resolve('refused'))
      .end()
  })

await sandboxSuite(bubblewrap(), () => {
  test('a guest without a network and without a key speaks to its model', async () => {
    const ran = await run(node(askModel), { model: model() as never, hosts: [] })
    expect(ran).toEqual({ code: 0, output: '200 question\n' })
    expect(seen.map(({ headers, url }) => [url, headers.authorization])).toEqual([
      ['/v1/responses', 'Bearer the-key'],
    ])
    expect(planned).toMatchObject({
      network: 'none',
      reach: { modelKey: 'outside', model: expect.stringMatching(/\/v1\/$/), hosts: [] },
    })
    expect(JSON.stringify(planned)).not.toContain('the-key')
    expect(readdirSync(join(root, 'runtime'))).toEqual([])
  })

  test('the control: without a relay the same guest reaches nobody', async () => {
    const program = `process.env.SANDBOX_MODEL_URL = 'http://127.0.0.1:7421/v1';${askModel}`
    expect(await run(node(program), undefined)).toMatchObject({ output: 'ECONNREFUSED\n' })
    expect(seen).toEqual([])
  })

  test('the sockets are there before the guest is made, and gone when it has ended', async () => {
    const found: string[][] = []
    await run(
      node('0'),
      { model: model() as never, hosts: ['a.example'] },
      bubblewrap(),
      (event) => {
        if (event.kind !== 'created') return
        const [folder = ''] = readdirSync(join(root, 'runtime')).filter(
          (one) => !one.endsWith('.json'),
        )
        found.push(readdirSync(join(root, 'runtime', folder)))
      },
    )
    expect(found).toEqual([expect.arrayContaining(['model.sock', 'proxy.sock'])])
    expect(readdirSync(join(root, 'runtime'))).toEqual([])
  })

  test('a socket lets in its own guest, and neither another guest nor its user from outside', async () => {
    const both = { model: model() as never, hosts: [] }
    const go = (): void => writeFileSync(join(root, 'workspace', 'go'), '')
    const outside: unknown[] = []
    let others = Promise.resolve<unknown>('')
    const own = await run(
      node(`${bySocket};(async () => {
        while (!require('node:fs').existsSync('go')) await new Promise((go) => setTimeout(go, 20))
        console.log(await ask('/run/sallyport/model.sock'))
      })()`),
      both,
      bubblewrap(),
      ({ kind }) => {
        const path = join(channelOf(), 'model.sock')
        if (['created', 'made', 'verified'].includes(kind)) outside.push(fromOutside(path))
        if (kind !== 'released') return
        outside.push(fromOutside(path))
        const other = node(`${bySocket};ask('/run/other/model.sock').then(console.log)`)
        const mounts = [{ from: channelOf(), at: '/run/other' }]
        others = run(other, both, bubblewrap(), undefined, mounts).finally(go)
      },
    )
    expect(own).toEqual({ code: 0, output: '200\n' })
    expect(await others).toMatchObject({
      output: expect.stringMatching(/^(?:ECONNRESET|EPIPE)\n$/),
    })
    expect(await Promise.all(outside)).toEqual(['refused', 'refused', 'refused', 'refused'])
    expect(seen).toHaveLength(1)
  })

  test.each([
    [['/bin/sh', '-c', 'exit 7'], 7],
    [['/bin/sh', '-c', 'kill -9 $$'], 137],
    [['/nowhere/program'], 127],
    [['/etc/hosts'], 126],
  ])('%j ends as it does without a forwarder: %d', async (command, code) => {
    expect(await run(command, { model: model() as never, hosts: [] })).toMatchObject({ code })
  })

  test('told to end, the command decides, and not what is around it', async () => {
    const ready = `process.on('SIGTERM', () => process.exit(9)); console.log('ready'); setInterval(() => 0, 1000)`
    const ran = await run(
      node(ready),
      { model: model() as never, hosts: [] },
      bubblewrap(),
      (event) => {
        if (event.kind !== 'released') return
        event.guest.stdout?.once('data', () => event.guest.signal('SIGTERM'))
      },
    )
    expect(ran).toMatchObject({ code: 9 })
  })

  test('a key that is asked to be inside is there by its own name, and told in the plan', async () => {
    const reach = {
      keyInside: { variable: 'OPENAI_API_KEY', key: 'the-key' },
      hosts: ['a.example'],
    }
    const program = 'console.log(process.env.OPENAI_API_KEY, process.env.HTTPS_PROXY)'
    const ran = await run(node(program), reach)
    expect(ran.output).toBe('the-key http://127.0.0.1:7422\n')
    expect(planned).toMatchObject({
      reach: { modelKey: 'inside', model: null, hosts: ['a.example'] },
    })
    expect(JSON.stringify(planned)).not.toContain('the-key')
  })

  test('a rule that nobody understands is refused before anything is made', async () => {
    planned = undefined
    const refused = run(node('0'), { hosts: ['*'] })
    await expect(refused).rejects.toMatchObject({ code: 'bad_host_rule' })
    expect(planned).toBeUndefined()
    expect(readdirSync(join(root, 'runtime'))).toEqual([])
  })
})

test('without a sandbox no key can be kept and no host, so neither is tried', async () => {
  planned = undefined
  for (const reach of [{ model: model() as never, hosts: [] }, { hosts: ['a.example'] }]) {
    const refused = run(['true'], reach, noSandbox())
    await expect(refused).rejects.toMatchObject({ code: 'model_key_exposed' })
  }
  expect(planned).toBeUndefined()
})
