/** What every sandbox does, run over each of them. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { allProcesses } from '../process/born-process.ts'
import type { Guest, Sandbox } from '../sandbox.ts'
import { Trial } from '../testing/trial.ts'

/** Made otherwise than planned, in one way. */
export interface Sabotage {
  readonly name: string
  /** The word of the mismatch by which it is found. */
  readonly found: string
  readonly sandbox: Sandbox
  /** What somebody else does to it between its making and its verification. */
  readonly meanwhile?: (guest: Guest) => void
}

let trial: Trial

/** `sandbox` as it is used; `sabotages` are of the same kind. */
export function sandboxContract(sandbox: Sandbox, sabotages: readonly Sabotage[]): void {
  describe(`${sandbox.isolation}: a sandbox`, () => {
    beforeEach(() => {
      trial = new Trial()
    })
    afterEach(() => trial.end())
    releaseContract(sandbox)
    passingContract(sandbox)
    destroyContract(sandbox)
    for (const sabotage of sabotages) sabotageContract(sabotage, sandbox)
  })
}

const touch = 'echo ran > ran'

function releaseContract(sandbox: Sandbox): void {
  test('is made as planned, and nothing of the guest runs before the release', async () => {
    const guest = await trial.held(sandbox, touch)
    const { evidence, mismatches } = await guest.verify()
    expect(mismatches).toEqual([])
    expect(evidence.process).toEqual(guest.process)
    expect(trial.has('ran')).toBe(false)
    guest.release()
    expect(await guest.ended).toEqual({ code: 0, wasStopped: false })
    expect(trial.has('ran')).toBe(true)
  })

  test('is released only after a verification, and once', async () => {
    const guest = await trial.held(sandbox, touch)
    expect(() => guest.release()).toThrow(TypeError)
    await guest.verify()
    guest.release()
    expect(() => guest.release()).toThrow(TypeError)
    await guest.ended
  })

  test('ends without having run when it is not released', async () => {
    const guest = await trial.held(sandbox, touch)
    await guest.verify()
    expect(await guest.destroy()).toEqual({ state: 'gone' })
    expect(await guest.ended).toMatchObject({ wasStopped: true })
    expect(() => guest.release()).toThrow(TypeError)
    expect(trial.has('ran')).toBe(false)
  })

  test('plans only what was planned here', async () => {
    const planned = { ...sandbox.plan(trial.spec(touch)) }
    expect(() => sandbox.create(planned)).toThrow(TypeError)
  })
}

function passingContract(sandbox: Sandbox): void {
  test('passes what goes in and comes out, and how it ends', async () => {
    const stdio = ['pipe', 'pipe', 'pipe'] as const
    const guest = await trial.running(sandbox, 'cat; echo complaint >&2; exit 7', { stdio })
    guest.stdin?.end('words\n')
    const [out, err] = await Promise.all([
      text(guest.stdout as NodeJS.ReadableStream),
      text(guest.stderr as NodeJS.ReadableStream),
    ])
    expect([out, err]).toEqual(['words\n', 'complaint\n'])
    expect((await guest.ended).code).toBe(7)
  })

  test('gives the guest the environment that was planned, and nothing of its launcher', async () => {
    process.env['SALLYPORT_TEST_SECRET'] = 'sentinel'
    const environment = { GIVEN: 'a b=c' }
    const { stdout } = await trial.run(sandbox, 'cat /proc/self/environ', { environment })
    delete process.env['SALLYPORT_TEST_SECRET']
    expect(stdout.split('\0')).toContain('GIVEN=a b=c')
    expect(stdout).not.toMatch(/sentinel|SALLYPORT|VITEST/)
  })

  test('gives the guest its own three descriptors and no other', async () => {
    const { stdout } = await trial.run(sandbox, 'ls /proc/$$/fd')
    expect(stdout.trim().split(/\s+/).map(Number).sort()).toEqual([0, 1, 2])
  })

  test('starts in the workspace, which can be written', async () => {
    const { code } = await trial.run(sandbox, 'test "$(ls)" = "" && echo x > file && test -s file')
    expect(code).toBe(0)
    expect(trial.has('file')).toBe(true)
  })

  test('passes signals on', async () => {
    const guest = await trial.running(sandbox, 'trap "echo heard; exit 9" TERM; echo ready; cat', {
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    const out = guest.stdout as NodeJS.ReadableStream
    await once(out, 'data')
    guest.signal('SIGTERM')
    guest.stdin?.end()
    expect(await text(out)).toBe('heard\n')
    expect((await guest.ended).code).toBe(9)
  })

  test('an interrupt ends a guest that does nothing about it, and not one that does', async () => {
    const stdio = ['pipe', 'pipe', 'ignore'] as const
    const endOf = async (script: string) => {
      const guest = await trial.running(sandbox, script, { stdio })
      await once(guest.stdout as NodeJS.ReadableStream, 'data')
      guest.signal('SIGINT')
      guest.stdin?.end()
      return (await guest.ended).code
    }
    expect(await endOf('echo ready; cat; exit 5')).toBe(130)
    expect(await endOf('trap : INT; echo ready; cat; exit 5')).toBe(5)
  })

  test.each(['data', '.', 'data/inner'])('refuses a workspace that shows %s', (path) => {
    const workspace = `${trial.root}/${path}`.replace('data/inner', 'data')
    const plan = () => sandbox.plan(trial.spec(touch, { workspace }))
    expect(plan).toThrow(expect.objectContaining({ code: 'workspace_refused' }))
  })

  test('refuses an environment that would run before the release', () => {
    const environment = { LD_PRELOAD: '/workspace/evil.so' }
    const plan = () => sandbox.plan(trial.spec(touch, { environment }))
    expect(plan).toThrow(expect.objectContaining({ code: 'environment_refused' }))
  })
}

/** Sleeps that no other process of the machine has, found by their arguments. */
function sleepsOf(seconds: string): number[] {
  return allProcesses().filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`sleep\0${seconds}`)
    } catch {
      return false
    }
  })
}

const uniqueSeconds = (): string => `${3000 + Math.random() * 1000}`

function destroyContract(sandbox: Sandbox): void {
  test('takes with it what the guest started, also what left its session', async () => {
    const seconds = uniqueSeconds()
    const script = `setsid sleep ${seconds} & (setsid sh -c 'sleep ${seconds} & sleep ${seconds}' &)
      while [ $(ls -d /proc/[0-9]* | wc -l) -lt 4 ]; do :; done; echo ready; sleep ${seconds}`
    const guest = await trial.running(sandbox, script)
    await once(guest.stdout as NodeJS.ReadableStream, 'data')
    await expect.poll(() => sleepsOf(seconds).length, { timeout: 10_000 }).toBeGreaterThan(3)
    expect(await guest.destroy()).toEqual({ state: 'gone' })
    expect(sleepsOf(seconds)).toEqual([])
    expect(await guest.destroy()).toEqual({ state: 'gone' })
  })

  test('is gone when the guest has ended by itself', async () => {
    const guest = await trial.running(sandbox, 'true')
    await guest.ended
    expect(await guest.destroy()).toEqual({ state: 'gone' })
  })

  test('is told by its end when somebody kills the guest', async () => {
    const guest = await trial.running(sandbox, 'echo ready; sleep 1000')
    await once(guest.stdout as NodeJS.ReadableStream, 'data')
    process.kill(guest.process.pid, 'SIGKILL')
    expect(await guest.ended).toEqual({ code: 137, wasStopped: false })
    expect(await guest.destroy()).toEqual({ state: 'gone' })
  })
}

function sabotageContract({ name, found, sandbox, meanwhile }: Sabotage, honest: Sandbox): void {
  test(`with ${name} it is found out, and the guest never runs; without, it does`, async () => {
    const guest = await trial.held(sandbox, touch)
    meanwhile?.(guest)
    const { mismatches } = await guest.verify()
    expect(mismatches.map(({ what }) => what)).toContain(found)
    expect(() => guest.release()).toThrow(TypeError)
    expect(await guest.destroy()).toEqual({ state: 'gone' })
    expect(trial.has('ran')).toBe(false)
    expect((await trial.run(honest, touch)).code).toBe(0)
    expect(trial.has('ran')).toBe(true)
  })
}
