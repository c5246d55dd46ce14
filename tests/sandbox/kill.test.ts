/** What is left when something is killed, whoever and whenever: nothing, and the session says why it ended. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { bubblewrap, noSandbox } from '@sallyport/launcher'
import type { BornProcess } from '@sallyport/protocol'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { allProcesses } from '../../packages/launcher/src/process/born-process.ts'
import { sandboxSuite } from '../../packages/launcher/src/testing/sandbox-suite.ts'
import { isAlive, killAndProveGone, processesWith } from '../harness/processes.ts'
import { eventually } from '../system/eventually.ts'
import { guestClient, isAnswer, resultsIn } from './guest-client.ts'
import type { LauncherOrder } from './launcher-program.ts'
import { run, SandboxWorld } from './sandbox-world.ts'

const program = fileURLToPath(new URL('launcher-program.ts', import.meta.url))
/** Of every loss, to the session's end. */
const withinMs = 10_000

let world: SandboxWorld
const launchers: ChildProcess[] = []

interface Step {
  readonly step: string
  readonly session?: { readonly id: string; readonly socket?: string }
  readonly guest?: BornProcess
}

class Launcher {
  readonly child: ChildProcess
  readonly steps: Step[] = []

  constructor(order: Partial<LauncherOrder>) {
    const { sallyport, runtime } = world
    const whole: LauncherOrder = {
      url: sallyport.url,
      token: sallyport.adminToken,
      isolation: 'bubblewrap',
      command: ['sleep', '1000'],
      workspace: world.workspace(),
      dataFolder: sallyport.dataDir,
      runtimeFolder: runtime,
      stopAt: 'never',
      ...order,
    }
    this.child = spawn(process.execPath, [program, JSON.stringify(whole)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    launchers.push(this.child)
    const lines = createInterface({ input: this.child.stdout as NodeJS.ReadableStream })
    lines.on('line', (line) => this.steps.push(JSON.parse(line)))
  }

  reached(step: string): Promise<Step> {
    return eventually(
      () => this.steps.find((one) => one.step === step),
      (found) => found !== undefined,
      20_000,
    ) as Promise<Step>
  }

  get session() {
    return this.steps.find(({ session }) => session)?.session
  }

  get guest() {
    return this.steps.find(({ guest }) => guest)?.guest
  }

  async kill(): Promise<void> {
    await killAndProveGone(this.child.pid as number)
  }
}

/** Processes in the network namespace of the guest, by what it was while it lived. */
const netOf = (pid: number): string => readlinkSync(`/proc/${pid}/ns/net`)
const inNetwork = (net: string): number[] =>
  allProcesses().filter((pid) => {
    try {
      return netOf(pid) === net
    } catch {
      return false
    }
  })

const endOf = async (id: string) => {
  const { state, endReason } = await world.session(id)
  return { state, endReason }
}
const untilEnded = (id: string) =>
  eventually(
    () => endOf(id),
    ({ state }) => state === 'ended',
    withinMs,
  )

await sandboxSuite(bubblewrap(), () => {
  beforeAll(async () => {
    world = await SandboxWorld.start()
  })
  afterEach(async () => {
    for (const child of launchers.splice(0)) {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
        await killAndProveGone(child.pid)
    }
  })
  afterAll(() => world.end())
  describe('kill the launcher', killLauncher)
  describe('kill the guest', killGuest)
  describe('kill the gateway', killGateway)
})

function killLauncher(): void {
  test.each([
    ['once the session is created', 'created', false],
    ['while the guest is held', 'made', false],
    ['when the session has opened', 'verified', false],
    ['while the guest runs', 'released', true],
  ] as const)('%s: nothing of it stays, and the session ends', async (_when, stopAt, ran) => {
    const seconds = `${4000 + Math.random() * 1000}`
    const script = `echo ran > ran; setsid sleep ${seconds} & sleep ${seconds}`
    const workspace = world.workspace()
    const launcher = new Launcher({ stopAt, workspace, command: ['sh', '-c', script] })
    await launcher.reached(stopAt)
    const { guest, session } = launcher
    if (ran) await eventually(() => existsSync(join(workspace, 'ran')), Boolean)
    const net = guest && netOf(guest.pid)
    await launcher.kill()
    const before = performance.now()
    expect(await untilEnded(session?.id ?? '')).toMatchObject({ endReason: 'owner_lost' })
    expect(performance.now() - before).toBeLessThan(withinMs)
    await eventually(
      () => processesWith(seconds),
      (found) => found.length === 0,
    )
    if (guest && net) {
      await eventually(
        () => isAlive(guest.pid),
        (found) => !found,
      )
      expect(inNetwork(net)).toEqual([])
    }
    await eventually(
      () => existsSync(session?.socket ?? '/'),
      (found) => !found,
    )
    expect(existsSync(join(workspace, 'ran'))).toBe(ran)
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(world.root)
    // The folder of a launcher that was killed is removed by the next one.
    expect((await run(await world.request(bubblewrap(), ['true']))).end.code).toBe(0)
    expect(world.leftovers()).toEqual([])
  })

  test('of one without walls everything goes that stayed in its session', async () => {
    const seconds = `${5000 + Math.random() * 1000}`
    const command = ['sh', '-c', `trap '' TERM HUP INT; sleep ${seconds} & sleep ${seconds}`]
    const launcher = new Launcher({ stopAt: 'released', isolation: 'none', command })
    await launcher.reached('released')
    await eventually(
      () => processesWith(seconds),
      (found) => found.length > 2,
    )
    await launcher.kill()
    await eventually(
      () => processesWith(seconds),
      (found) => found.length === 0,
    )
    expect(await untilEnded(launcher.session?.id ?? '')).toMatchObject({ endReason: 'owner_lost' })
  })
}

function killGuest(): void {
  test('while it is held: it never runs, and the session ends', async () => {
    const request = await world.request(bubblewrap(), ['sh', '-c', 'echo ran > ran'])
    let id = ''
    const refused = run(request, (event) => {
      if (event.kind === 'created') id = event.session.id
      if (event.kind === 'made') killNow(event.guest.process.pid)
    })
    await expect(refused).rejects.toThrow()
    expect(await untilEnded(id)).toMatchObject({ endReason: 'sandbox_failed' })
    expect(existsSync(join(request.workspace, 'ran'))).toBe(false)
    expect(world.leftovers()).toEqual([])
  })

  test('once the session has opened: it never runs, and the session says that it was killed', async () => {
    const request = await world.request(bubblewrap(), ['sh', '-c', 'echo ran > ran'])
    const { end } = await run(request, (event) => {
      if (event.kind === 'verified') killNow(guestPid(request.runtimeFolder))
    })
    expect(end).toMatchObject({ reason: 'guest_killed' })
    expect(await endOf(end.session)).toMatchObject({ state: 'ended', endReason: 'guest_killed' })
    expect(existsSync(join(request.workspace, 'ran'))).toBe(false)
    expect(world.leftovers()).toEqual([])
  })

  test.each([
    ['bubblewrap', bubblewrap],
    ['none', noSandbox],
  ] as const)(
    '%s: while it runs, all of it goes and the session says so',
    async (_name, sandbox) => {
      const seconds = `${6000 + Math.random() * 1000}`
      const script = `setsid sleep ${seconds} & echo ran > ran; sleep ${seconds}`
      const request = await world.request(sandbox(), ['sh', '-c', script])
      const { end } = await run(request, (event) => {
        if (event.kind !== 'released') return
        const { pid } = event.guest.process
        const kill = async (): Promise<void> => {
          await eventually(() => existsSync(join(request.workspace, 'ran')), Boolean)
          process.kill(pid, 'SIGKILL')
        }
        void kill()
      })
      expect(end).toMatchObject({ code: 137, reason: 'guest_killed' })
      expect(await endOf(end.session)).toMatchObject({ state: 'ended', endReason: 'guest_killed' })
      expect(processesWith(seconds)).toEqual([])
      expect(world.leftovers()).toEqual([])
    },
  )
}

/** It has ended when this returns: on a busy machine what is killed may run on for a while. */
function killNow(pid: number): void {
  process.kill(pid, 'SIGKILL')
  const until = performance.now() + withinMs
  while (isAlive(pid)) if (performance.now() > until) throw new Error('SIGKILL does not end it')
}

/** By the note that the launcher keeps beside the channel. */
function guestPid(folder: string): number {
  const [note = ''] = world.leftovers().filter((name) => name.endsWith('.json'))
  const [, guest] = JSON.parse(readFileSync(join(folder, note), 'utf8'))
  return guest.pid
}

function killGateway(): void {
  test('ends no sandbox: its session goes on once its launcher has proved it again', async () => {
    const workspace = world.workspace()
    const calls = guestClient([{ name: 'counter__look', arguments: { id: 'after' } }])
    const wait = 'while [ ! -e go ]; do sleep 0.1; done; /opt/sallyport/node -e "$1" > out'
    const port = new URL(world.sallyport.url).port
    const launcher = new Launcher({ workspace, command: ['sh', '-c', wait, 'wait', calls] })
    await launcher.reached('released')
    const { guest, session } = launcher
    const id = session?.id ?? ''
    const before = await world.session(id)
    await world.sallyport.kill()
    expect(isAlive(guest?.pid ?? 0)).toBe(true)
    await world.sallyport.restart({ args: ['--port', port] })
    const after = await eventually(
      () => world.session(id),
      ({ sandbox }) => sandbox?.provedAt !== before.sandbox?.provedAt,
      withinMs,
    )
    expect(after).toMatchObject({ state: 'open', sandbox: { plan: before.sandbox?.plan } })
    writeFileSync(join(workspace, 'go'), '')
    await launcher.reached('ended')
    expect(resultsIn(readFileSync(join(workspace, 'out'), 'utf8')).map(isAnswer)).toEqual([true])
    expect(await endOf(id)).toMatchObject({ state: 'ended', endReason: 'guest_ended' })
  })

  test('a launcher that went with it is missed when it is back', async () => {
    const launcher = new Launcher({})
    await launcher.reached('released')
    const id = launcher.session?.id ?? ''
    const port = new URL(world.sallyport.url).port
    await world.sallyport.kill()
    await launcher.kill()
    await world.sallyport.restart({ args: ['--port', port] })
    expect(await untilEnded(id)).toMatchObject({ endReason: 'owner_lost' })
  })
}
