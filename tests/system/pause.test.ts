/** Paused by an administrator: no barrier passes, or none of a write; everything else goes on. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { apiAt } from '../harness/call-api.ts'
import { connectAndGrant, type OpenSession } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { runCommand } from './commands.ts'
import { type CountedUpstream, startCountedUpstream } from './counted-upstream.ts'
import { rowOf, rowsOf } from './journal.ts'
import { type Era, RawGuest } from './raw-guest.ts'

let home: string
let upstream: CountedUpstream
let sallyport: Sallyport
let session: OpenSession

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'sallyport-pause-'))
  upstream = await startCountedUpstream()
  sallyport = await startSallyport()
  session = await connectAndGrant(sallyport, {
    name: 'counted',
    url: upstream.url,
    profile: 'unattended',
    read: ['look'],
    write: ['store'],
    unattended: true,
  })
})
afterEach(() => sallyport.api('pause.clear'))
afterAll(async () => {
  await sallyport?.remove()
  await upstream?.close()
  rmSync(home, { recursive: true, force: true })
})

interface Operator {
  pause(note: string, writes: boolean): Promise<unknown>
  resume(): Promise<unknown>
}

const byApi: Operator = {
  pause: (note, writes) => sallyport.api('pause.set', {}, { note, writes }),
  resume: () => sallyport.api('pause.clear'),
}

const byCommand: Operator = {
  pause: (note, writes) => succeed('pause', '--note', note, ...(writes ? ['--writes'] : [])),
  resume: () => succeed('resume'),
}

async function succeed(...words: string[]): Promise<unknown> {
  const ended = await command(...words, '--json')
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  return JSON.parse(ended.stdout)
}

function command(...words: string[]) {
  return runCommand(words, { dataDir: sallyport.dataDir, home })
}

function guest(era: Era = 'modern'): RawGuest {
  const endpoint = `${sallyport.guestUrl}/mcp/counted`
  return new RawGuest({ endpoint, token: session.token, era })
}

let calls = 0

/** Codes of a read and a write; undefined for one that succeeded. */
async function codes(era?: Era): Promise<(string | undefined)[]> {
  const given = `{"id":"call-${++calls}"}`
  const read = await guest(era).call('look', given)
  return [read, await guest(era).call('store', given)].map(({ failure }) => failure?.code)
}

const passed = [undefined, undefined]

describe.each([
  ['API', byApi],
  ['command line', byCommand],
])('by the %s', (by, operator) => {
  test('nothing passes while all is paused; what was sent before is answered, the rest works', async () => {
    const id = `before-${by}`
    const before = guest().call('store', JSON.stringify({ hold: true, id }))
    await upstream.began(id)
    const paused = { writesOnly: false, note: 'moving house', by: 'admin', at: expect.any(String) }
    expect(await operator.pause('moving house', false)).toMatchObject({ paused })
    expect(await sallyport.api('status.show')).toMatchObject({ paused, dispatching: 1 })

    const seen = upstream.upstream.count('tools/call')
    for (const era of ['modern', 'legacy'] as const)
      expect(await codes(era)).toEqual(['paused', 'paused'])
    expect(upstream.upstream.count('tools/call')).toBe(seen)
    const last = await rowsOf(sallyport, session.id)
    expect(last.slice(-4).map(({ state, code }) => [state, code])).toEqual(
      Array(4).fill(['refused', 'paused']),
    )

    expect((await guest().ask('tools/list')).result?.['tools']).toHaveLength(2)
    expect(await sallyport.api('session.create', {}, { profile: 'unattended' })).toMatchObject({
      state: 'open',
    })
    upstream.release(id)
    expect(await before).toMatchObject({ isError: false, text: 'done' })
    expect(await rowOf(sallyport, session.id, { hold: true, id })).toMatchObject({
      state: 'succeeded',
    })

    expect(await operator.resume()).toMatchObject({ paused: null })
    expect(await codes()).toEqual(passed)
  })

  test('reads pass while writes are paused, and the newest pause counts', async () => {
    expect(await codes()).toEqual(passed)
    await operator.pause('no writes', true)
    for (const era of ['modern', 'legacy'] as const)
      expect(await codes(era)).toEqual([undefined, 'paused'])
    await operator.pause('nothing at all', false)
    expect(await codes()).toEqual(['paused', 'paused'])
    await operator.pause('no writes again', true)
    expect(await codes()).toEqual([undefined, 'paused'])
    await operator.resume()
    await operator.resume()
    expect(await codes()).toEqual(passed)
  })
})

test('once a pause is acknowledged, no call that begins afterwards is sent', async () => {
  let isAcknowledged = false
  const begunAfter: string[] = []
  const answers: [isAfter: boolean, code: string | undefined][] = []
  const caller = async (name: string): Promise<void> => {
    for (let n = 0; answers.filter(([isAfter]) => isAfter).length < 40; n++) {
      const id = `${name}-${n}`
      const isAfter = isAcknowledged
      if (isAfter) begunAfter.push(id)
      const { failure } = await guest().call('store', JSON.stringify({ id, ms: 5 }))
      answers.push([isAfter, failure?.code])
    }
  }
  const callers = Array.from({ length: 8 }, (_, at) => caller(`stream-${at}`))
  await upstream.began('stream-0-3')
  await byApi.pause('while calls flow', false)
  isAcknowledged = true
  await Promise.all(callers)
  expect(new Set(answers.filter(([isAfter]) => isAfter).map(([, code]) => code))).toEqual(
    new Set(['paused']),
  )
  expect(begunAfter.map(upstream.effects)).toEqual(begunAfter.map(() => 0))
  expect(answers.filter(([, code]) => code === undefined).length).toBeGreaterThan(0)
})

test('a pause outlives a restart and a crash', async () => {
  await byApi.pause('over night', true)
  await sallyport.restart()
  expect(await codes()).toEqual([undefined, 'paused'])
  await sallyport.kill()
  await sallyport.restart()
  expect(await codes()).toEqual([undefined, 'paused'])
  await byCommand.resume()
  expect(await codes()).toEqual(passed)
})

test('a pause says why and by whom, needs a note, and is for administrators', async () => {
  await byCommand.pause('the tracker moves', true)
  expect((await command('status')).stdout).toMatch(
    /paused +writes, by admin at .*: the tracker moves/,
  )
  expect(await command('pause')).toMatchObject({ code: 2 })
  const { secret } = await memberToken()
  const member = apiAt(
    () => sallyport.url,
    () => secret,
  )
  const file = join(home, 'member-token')
  writeFileSync(file, secret, { mode: 0o600 })
  for (const [words, ask] of [
    [['pause', '--note', 'x'], () => member('pause.set', {}, { note: 'x', writes: false })],
    [['resume'], () => member('pause.clear')],
  ] as const) {
    await expect(ask()).rejects.toMatchObject({ status: 403, code: 'not_allowed' })
    const place = { dataDir: sallyport.dataDir, home, env: { SALLYPORT_TOKEN_FILE: file } }
    expect(await runCommand(words, place)).toMatchObject({ code: 4 })
  }
  expect(await sallyport.api('status.show')).toMatchObject({
    paused: { note: 'the tracker moves' },
  })
})

async function memberToken() {
  await sallyport.api('user.create', {}, { name: 'mo', role: 'member' })
  return sallyport.api('token.create', {}, { user: 'mo' })
}
