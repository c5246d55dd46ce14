/** A launcher as a process of its own, to be killed at a step: says each step on a line, and stops for good at one of them. */
import { writeSync } from 'node:fs'
import { bubblewrap, genericHarness, noSandbox, runGuest } from '@sallyport/launcher'
import { apiPort } from './api-port.ts'
import { shim } from './shim-place.ts'

/** The argument is JSON. */
export interface LauncherOrder {
  readonly url: string
  readonly token: string
  readonly isolation: 'bubblewrap' | 'none'
  readonly command: readonly string[]
  readonly workspace: string
  readonly dataFolder: string
  readonly runtimeFolder: string
  readonly stopAt: string
}

const order: LauncherOrder = JSON.parse(process.argv[2] ?? '')
const sandbox = order.isolation === 'none' ? noSandbox() : bubblewrap()
const { command: words, isolation, workspace } = order
const asked = { words, isolation, environment: {}, shim, workspace }

const end = await runGuest({
  ...order,
  sandbox,
  port: apiPort(
    () => order.url,
    () => order.token,
  ),
  session: { profile: 'p' },
  prepared: await genericHarness.prepare(asked),
  shim,
  stdio: ['ignore', 'ignore', 'ignore'],
  stop: new AbortController().signal,
  told: (event) => {
    const session = event.kind === 'created' ? event.session : undefined
    const guest = 'guest' in event ? event.guest.process : undefined
    writeSync(1, `${JSON.stringify({ step: event.kind, session, guest })}\n`)
    if (event.kind === order.stopAt) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  },
})
writeSync(1, `${JSON.stringify({ step: 'ended', end })}\n`)
