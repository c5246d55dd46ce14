/** A program that hangs where it is tried is known to be gone before anything else is started. */
import { execFileSync } from 'node:child_process'
import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { SteppedClock } from '../scripted-worker.ts'
import { tryProgram } from './try-program.ts'
import { WorkerWall } from './worker-wall.ts'

const triesMs = 10_000

let root: string
let entry: string
let clock: SteppedClock
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-try-')))
  for (const folder of ['program', 'data/worker'])
    mkdirSync(join(root, folder), { recursive: true })
  entry = join(root, 'program', 'main.mjs')
  clock = new SteppedClock(0)
})
afterEach(() => {
  // None, but where a test has failed.
  for (const { pid } of processes()) process.kill(pid, 'SIGKILL')
  rmSync(root, { recursive: true })
})

/** Those that have this test's folder in their words. */
function processes(): { readonly pid: number; readonly program: string }[] {
  return globSync('/proc/[0-9]*/cmdline').flatMap((file) => {
    try {
      const words = readFileSync(file, 'utf8')
      const program = words.slice(0, words.indexOf('\0'))
      return words.includes(root) ? [{ pid: Number(file.split('/')[2]), program }] : []
    } catch {
      return [] // It ended meanwhile.
    }
  })
}
const programs = () => processes().map(({ program }) => program)

const within = { timeout: 15_000 }

test.skipIf(process.platform !== 'linux')(
  'a program that only sleeps is killed in time, with what it has started',
  async () => {
    writeFileSync(
      entry,
      `import { spawn } from 'node:child_process'
       spawn('tail', ['-n0', '-f', import.meta.filename], { stdio: ['ignore', 'inherit', 'inherit'] })`,
    )
    const complaint = tryProgram({ around: undefined, nodeFlags: [], moreFlags: [] }, entry, clock)
    await expect.poll(programs, within).toContain('tail')
    expect(clock.pending()).toEqual([triesMs])
    clock.step(triesMs)
    expect(await complaint).toBe('')
    await expect.poll(programs, within).toEqual([])
  },
)

test('one that ends leaves no timer', async () => {
  writeFileSync(entry, `console.log('no flags')`)
  const launch = { around: undefined, nodeFlags: [], moreFlags: [] }
  expect(await tryProgram(launch, entry, clock)).toBeUndefined()
  expect(clock.pending()).toEqual([])
})

const lacking = lackOf()
function lackOf(): string | undefined {
  try {
    const user = process.getuid?.() === 0 ? [] : ['--unshare-user', '--disable-userns']
    execFileSync('bwrap', ['--unshare-pid', ...user, '--ro-bind', '/', '/', 'true'], {
      stdio: 'pipe',
    })
    return undefined
  } catch (thrown) {
    return String(thrown)
  }
}

const title = 'behind the walls nothing is left of it, and the next launch goes without them'
test.skipIf(lacking !== undefined)(
  lacking === undefined ? title : `${title}: not run here. ${lacking}`,
  async () => {
    writeFileSync(entry, `if (process.pid === 1) setInterval(() => {}, 1_000); else console.log(1)`)
    const folder = join(root, 'data', 'worker')
    const wall = new WorkerWall({
      mode: 'auto',
      needs: {
        entry,
        dataDir: join(root, 'data'),
        folder,
        socketFolder: folder,
        vaultKey: { file: join(folder, 'vault.key') },
        readable: [],
        hidden: [],
      },
      namesFolder: join(root, 'data', 'gateway', 'names'),
      clock,
    })
    try {
      const isToBlame = wall.isToBlame(wall.prepare())
      await expect.poll(programs, within).toContain(process.execPath)
      clock.step(triesMs)
      expect(await isToBlame).toBe(true)
      expect(wall.because).toEqual(['bubblewrap makes no sandbox here: it does not end in time.'])
      await expect.poll(programs, within).toEqual([])
    } finally {
      wall.stop()
    }
  },
)
