import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SallyportError } from '@sallyport/protocol'
import { denySetDigest } from '@sallyport/protocol/node'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { genericHarness } from '../harness/generic.ts'
import { noSandbox } from '../none/none.ts'
import type { Destroyed, Guest, Sandbox } from '../sandbox.ts'
import { sandboxSuite } from '../testing/sandbox-suite.ts'
import { runGuest } from './run-guest.ts'
import type { RunEvent, RunRequest } from './run-request.ts'
import type { SessionPort } from './session-port.ts'

let root: string
let asked: string[]
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sallyport-run-guest-'))
  for (const name of ['workspace', 'data', 'runtime']) mkdirSync(join(root, name))
  asked = []
})
afterEach(() => rmSync(root, { recursive: true }))

/** A gateway that agrees to everything. */
function agreeing(more: Partial<SessionPort> = {}): SessionPort {
  const denySet = { revision: 0, digest: denySetDigest(0, []), entries: [] }
  const session = { id: 'ses_1', state: 'open', endReason: null, connections: [], unavailable: [] }
  const answer =
    (what: string, given: object = {}) =>
    async (...words: unknown[]) => {
      const { reason = '' } = (words[1] ?? {}) as { reason?: string }
      asked.push(`${what} ${reason}`.trim())
      return { ...session, token: 't', ownerKey: 'k', prove: false, denySet, ...given } as never
    }
  return {
    create: answer('create'),
    show: answer('show'),
    hear: answer('hear', { denySet: 0 }),
    denySet: answer('deny set', denySet),
    confirm: answer('confirm'),
    end: answer('end'),
    ...more,
  }
}

async function request(more: Partial<RunRequest> = {}, command = ['true']): Promise<RunRequest> {
  const shim = { node: process.execPath, program: '/nowhere/shim.mjs' }
  return {
    sandbox: noSandbox(),
    port: agreeing(),
    session: { profile: 'p' },
    prepared: await genericHarness.prepare({
      words: command,
      isolation: 'none',
      environment: {},
      shim,
      workspace: join(root, 'workspace'),
    }),
    shim,
    workspace: join(root, 'workspace'),
    dataFolder: join(root, 'data'),
    stdio: ['ignore', 'ignore', 'ignore'],
    runtimeFolder: join(root, 'runtime'),
    stop: new AbortController().signal,
    timing: { everyMs: 20 },
    ...more,
  }
}

/** Its guests are hard to end: so often it cannot be proved that they are gone. */
function stubborn(times: number): Sandbox {
  const sandbox = noSandbox()
  let left = times
  const hard = (guest: Guest): Guest =>
    Object.assign(Object.create(guest), {
      process: guest.process,
      ended: guest.ended,
      plan: guest.plan,
      verify: () => guest.verify(),
      release: () => guest.release(),
      signal: (name: NodeJS.Signals) => guest.signal(name),
      destroy: async (): Promise<Destroyed> => {
        if (left-- > 0) return { state: 'unresolved', reason: 'not permitted' }
        return guest.destroy()
      },
    })
  return { ...sandbox, create: async (planned) => hard(await sandbox.create(planned)) }
}

const leftovers = () => readdirSync(join(root, 'runtime'))

await sandboxSuite(noSandbox(), () => {
  test('creates, shows, releases, ends the session, and leaves nothing', async () => {
    const kinds: string[] = []
    const told = (event: RunEvent) => kinds.push(event.kind)
    expect(await runGuest(await request({ told }))).toEqual({
      session: 'ses_1',
      code: 0,
      reason: 'guest_ended',
    })
    expect(kinds).toEqual(['created', 'made', 'verified', 'released'])
    expect(asked.filter((one) => one !== 'hear')).toEqual(['create', 'show', 'end guest_ended'])
    expect(leftovers()).toEqual([])
  })

  test('on a machine that cannot make the sandbox nothing is asked for and nothing made', async () => {
    const sandbox = { ...noSandbox(), lacks: async () => 'It is not installed.' }
    const refused = expect.objectContaining({ code: 'no_isolation' })
    await expect(runGuest(await request({ sandbox }))).rejects.toEqual(refused)
    expect([asked, leftovers()]).toEqual([[], []])
    expect(await runGuest(await request())).toMatchObject({ code: 0 })
  })

  test('a workspace in which the folders of other runs are is refused before anything is made', async () => {
    for (const workspace of [root, join(root, 'runtime')]) {
      const running = runGuest(await request({ workspace }))
      await expect(running).rejects.toMatchObject({ code: 'workspace_refused', field: 'workspace' })
    }
    expect([asked, leftovers()]).toEqual([[], []])
    const inner = join(root, 'runtime', 'workspace')
    mkdirSync(inner)
    expect(await runGuest(await request({ workspace: inner }))).toMatchObject({ code: 0 })
  })

  test('files go only once the guest is proved gone; until then it is tried and told', async () => {
    const unresolved: string[] = []
    const told = (event: RunEvent) =>
      event.kind === 'unresolved' && unresolved.push(`${event.reason}, ${leftovers().length}`)
    await runGuest(await request({ sandbox: stubborn(2), told }))
    expect(unresolved).toEqual(['not permitted, 2', 'not permitted, 2'])
    expect(leftovers()).toEqual([])
  })

  test('what is never proved gone is an error, and its files stay', async () => {
    const running = runGuest(await request({ sandbox: stubborn(99) }))
    await expect(running).rejects.toMatchObject({ code: 'not_gone' })
    expect(leftovers()).toHaveLength(2)
    expect(asked).toContain('end guest_ended')
  })

  test('a session that is refused is never released, and its guest is gone', async () => {
    const refusing = agreeing({
      show: async () => {
        throw new SallyportError('evidence_mismatch', { field: 'mount' })
      },
    })
    const kinds: string[] = []
    const told = (event: RunEvent) => kinds.push(event.kind)
    const running = runGuest(await request({ port: refusing, told }))
    await expect(running).rejects.toMatchObject({ code: 'evidence_mismatch', field: 'mount' })
    expect(kinds).toEqual(['created', 'made'])
    expect(asked).toContain('end evidence_mismatch')
    expect(leftovers()).toEqual([])
  })

  test('asked to stop before the release, it releases nothing', async () => {
    const stop = new AbortController()
    const kinds: string[] = []
    const told = (event: RunEvent) => {
      kinds.push(event.kind)
      if (event.kind === 'made') stop.abort()
    }
    const end = await runGuest(await request({ stop: stop.signal, told }))
    expect(end.reason).toBe('launcher_stopped')
    expect(kinds).toEqual(['created', 'made', 'verified'])
    expect(asked).toContain('end launcher_stopped')
  })

  test('without a gateway for too long the sandbox goes', async () => {
    let count = 0
    const gone = agreeing({
      hear: async () => {
        if (++count > 2) throw new SallyportError('unreachable')
        return { id: 'ses_1', state: 'open', endReason: null, prove: false, denySet: 0 }
      },
    })
    const timing = { everyMs: 10, withoutGatewayMs: 50 }
    const end = await runGuest(await request({ port: gone, timing }, ['sleep', '1000']))
    expect(end).toMatchObject({ reason: 'gateway_gone', code: 143 })
    expect(leftovers()).toEqual([])
  })
})
