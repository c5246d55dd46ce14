/** Closed until verified, with the whole program: before, during and after, from inside and from outside. */
import { spawnSync } from 'node:child_process'
import { existsSync, openSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { bubblewrap, type Guest, noSandbox, type RunRequest } from '@sallyport/launcher'
import type { Answer } from '@sallyport/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sandboxSuite } from '../../packages/launcher/src/testing/sandbox-suite.ts'
import { guestClient, isAnswer, resultsIn, type ToolAsked } from './guest-client.ts'
import { run, SandboxWorld } from './sandbox-world.ts'

let world: SandboxWorld

const look = (id: string): ToolAsked => ({ name: 'counter__look', arguments: { id } })
/** Nothing by the socket, and nothing by the bearer. */
const denied = ['closed', 401]
type Created = Answer<'session.create'>

const go = ({ workspace }: RunRequest): void => writeFileSync(join(workspace, 'go'), '')
const client = (...calls: ToolAsked[]) => ['/opt/sallyport/node', '-e', guestClient(calls)]

const asked = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'outside', version: '1' },
  },
})
const headers = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'content-length': Buffer.byteLength(asked),
}

/** What another process of this user is answered by the socket of a session; `closed` when nothing is. */
function bySocket(socketPath: string, token: string): Promise<number | 'closed'> {
  return new Promise((resolve) => {
    const authorized = { ...headers, authorization: `Bearer ${token}` }
    const ask = request({ socketPath, path: '/mcp', method: 'POST', headers: authorized })
    ask.on('error', () => resolve('closed'))
    ask.on('response', (answer) => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
    })
    ask.end(asked)
  })
}

/** With the bearer of the session, at the listener that guests without a sandbox of ours use. */
async function byBearer(token: string): Promise<number> {
  const { 'content-length': _, ...others } = headers
  const authorized = { ...others, authorization: `Bearer ${token}` }
  const url = `${world.sallyport.guestUrl}/mcp`
  const answer = await fetch(url, { method: 'POST', headers: authorized, body: asked })
  await answer.body?.cancel()
  return answer.status
}

/** Both ways, in this order. */
const tryFromOutside = async ({ socket = '', token }: Created) => [
  await bySocket(socket, token),
  await byBearer(token),
]

await sandboxSuite(bubblewrap(), () => {
  beforeAll(async () => {
    world = await SandboxWorld.start()
  })
  afterAll(() => world.end())
  describe('bubblewrap', suite)
})

function suite(): void {
  test('a guest in a verified sandbox calls its tools; nobody else does, at any time', async () => {
    const request = await world.request(bubblewrap(), waitFor('go', client(look('inside'))))
    const tries: Promise<unknown>[] = []
    let created: Created | undefined
    // The guest goes on once it was tried from outside, while its session is open.
    const { end, output } = await run(request, (event) => {
      if (event.kind === 'created') created = event.session
      if (created && ['created', 'made', 'verified'].includes(event.kind))
        tries.push(tryFromOutside(created))
      if (event.kind === 'released') void Promise.all(tries).then(() => go(request))
    })
    expect(end).toMatchObject({ code: 0, reason: 'guest_ended' })
    expect(resultsIn(output).map(isAnswer)).toEqual([true])
    expect(await Promise.all(tries)).toEqual([denied, denied, denied])
    expect(await tryFromOutside(created as Created)).toEqual(denied)
    expect(await world.session(end.session)).toMatchObject({
      state: 'ended',
      endReason: 'guest_ended',
      isolation: 'bubblewrap',
      sandbox: { provedAt: expect.any(String), evidence: expect.stringMatching(/^sha256:/) },
    })
    expect(world.leftovers()).toEqual([])
  })

  test('the control: without a sandbox the same request from outside is served', async () => {
    const request = await world.request(noSandbox(), waitFor('go', ['true']))
    let created: Created | undefined
    let tried: unknown
    await run(request, (event) => {
      if (event.kind === 'created') created = event.session
      if (event.kind !== 'released' || !created) return
      void tryFromOutside(created).then((found) => {
        tried = found
        go(request)
      })
    })
    expect(tried).toEqual([200, 401])
  })

  test('the control: the bearer of a session that its creator vouches for is enough', async () => {
    const { token } = await world.sallyport.api('session.create', {}, { profile: 'p' })
    expect(await byBearer(token)).toBe(200)
  })

  const leaked = openSync('/etc/hostname', 'r')
  const without = (...words: readonly string[]) =>
    bubblewrap({
      tamper: (making) => {
        const at = making.arguments.findIndex((_, i) =>
          words.every((word, n) => making.arguments[i + n] === word),
        )
        return { ...making, arguments: making.arguments.toSpliced(at, words.length) }
      },
    })
  const instead = (from: readonly string[], to: readonly string[]) =>
    bubblewrap({
      tamper: (making) => {
        const at = making.arguments.findIndex((_, i) =>
          from.every((word, n) => making.arguments[i + n] === word),
        )
        return { ...making, arguments: making.arguments.toSpliced(at, from.length, ...to) }
      },
    })
  const interfaces = (guest: Guest): void => {
    const link = ['ip', 'link', 'add', 'second0', 'type', 'veth', 'peer', 'name', 'second1']
    spawnSync('nsenter', ['--target', `${guest.process.pid}`, '--net', ...link])
  }

  test.each([
    ['the network of the host', 'net namespace', without('--unshare-net')],
    ['a mount more', 'mount', instead(['--chdir'], ['--ro-bind', '/etc', '/host', '--chdir'])],
    // Read, and not used.
    ['no filter', 'seccomp', instead(['--seccomp', '6'], ['--file', '6', '/etc/filter'])],
    ['another user', 'uid map', instead(['--uid', '1000'], ['--uid', '0'])],
    [
      'a descriptor more',
      'descriptors',
      bubblewrap({ tamper: (making) => ({ ...making, passed: new Map([[30, leaked]]) }) }),
    ],
    ['a second interface', 'interfaces', bubblewrap(), interfaces],
  ] as const)(
    'a sandbox with %s never opens its session, and the guest never runs',
    async (...given) => {
      const [, what, sandbox, meanwhile] = given
      if (meanwhile && process.getuid?.() !== 0) return
      const request = await world.request(sandbox, ['sh', '-c', 'echo ran > ran'])
      let id = ''
      const steps: string[] = []
      const refused = run(request, (event) => {
        steps.push(event.kind)
        if (event.kind === 'created') id = event.session.id
        if (event.kind === 'made') meanwhile?.(event.guest)
      })
      await expect(refused).rejects.toMatchObject({ code: 'evidence_mismatch', field: what })
      expect(steps).toEqual(['created', 'made'])
      expect(existsSync(join(request.workspace, 'ran'))).toBe(false)
      expect(await world.session(id)).toMatchObject({
        state: 'ended',
        endReason: 'evidence_mismatch',
        sandbox: { provedAt: null },
      })
      expect(world.leftovers()).toEqual([])
    },
  )

  test('the control: the same guest in a sandbox as planned runs', async () => {
    const request = await world.request(bubblewrap(), ['sh', '-c', 'echo ran > ran'])
    expect((await run(request)).end).toMatchObject({ code: 0, reason: 'guest_ended' })
    expect(existsSync(join(request.workspace, 'ran'))).toBe(true)
  })
}

/** Runs once that file is in the workspace. */
function waitFor(name: string, command: readonly string[]): string[] {
  const script = `i=0; while [ ! -e ${name} ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i+1)); done; exec "$@"`
  return ['sh', '-c', script, 'wait', ...command]
}
