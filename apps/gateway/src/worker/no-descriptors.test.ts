/**
 * A gateway that has no descriptors left fails to start a worker, and goes on: with each number of them that is left until
 * there are enough. In a process of its own, because the limit is of a process.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

let root: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-descriptors-')))
  mkdirSync(join(root, 'worker'))
})
afterEach(() => rmSync(root, { recursive: true }))

/**
 * Codes of the errors with one descriptor left, two and so on, until the call resolves, whose value comes last.
 * `prepare`: statements that declare `attempt`.
 */
function outcomes(prepare: string): unknown[] {
  const file = join(root, 'starved.mjs')
  const place = (module: string) => JSON.stringify(new URL(module, import.meta.url).href)
  writeFileSync(
    file,
    `import { closeSync, openSync, writeFileSync } from 'node:fs'
     import { spawnWorker } from ${place('./spawn-worker.ts')}
     import { WorkerWall } from ${place('./isolation/worker-wall.ts')}
     import { systemClock as clock } from ${place('./clock.ts')}
     const entry = ${JSON.stringify(join(root, 'main.mjs'))}
     const folder = ${JSON.stringify(join(root, 'worker'))}
     const words = ['-c', 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"', 'sh']
     const around = { program: '/bin/sh', words, filter: new Uint8Array(8) }
     const launch = { around, nodeFlags: [], moreFlags: [] }
     ${prepare}
     const found = []
     for (let left = 1, isOver = false; !isOver && left < 40; left++) {
       const held = []
       try {
         for (;;) held.push(openSync('/dev/null'))
       } catch (thrown) {
         if (thrown.code !== 'EMFILE') throw thrown
       }
       for (let freed = 0; freed < left; freed++) closeSync(held.pop())
       await attempt().then(
         (value) => { isOver = true; found.push(value) },
         (thrown) => found.push(thrown.code),
       )
       for (const descriptor of held) closeSync(descriptor)
     }
     writeFileSync(1, JSON.stringify(found))
     process.exit()`,
  )
  const script = 'ulimit -n 100 && exec "$@"'
  return JSON.parse(
    execFileSync('sh', ['-c', script, 'sh', process.execPath, file], { encoding: 'utf8' }),
  )
}

function expectDownUntil(found: readonly unknown[], last: unknown): void {
  expect(found.length).toBeGreaterThan(4)
  expect(found).toEqual([...found.slice(1).map(() => 'worker_down'), last])
}

test('a worker that cannot be started for want of descriptors is down, and starts when there are some', () => {
  writeFileSync(
    join(root, 'main.mjs'),
    `console.log(JSON.stringify({ event: 'listening', instance: 'one' })); setInterval(() => {}, 1_000)`,
  )
  const found = outcomes(`
    const options = { launch: { ...launch, around: undefined }, command: [entry], inherited: [], folder, clock }
    const attempt = async () => {
      const { child, instance } = await spawnWorker({ ...options, logFile: folder + '/log', began: () => {} })
      process.kill(-child.pid, 'SIGKILL')
      return instance
    }`)
  expectDownUntil(found, 'one')
})

test('want of descriptors is no reason to go without walls', () => {
  writeFileSync(join(root, 'main.mjs'), `console.log('no flags')`)
  const found = outcomes(`
    const needs = { entry, dataDir: folder, folder, socketFolder: folder, vaultKey: { file: folder + '/vault.key' }, readable: [], hidden: [] }
    const wall = new WorkerWall({ mode: 'auto', needs, namesFolder: folder + '/names', clock })
    const known = JSON.stringify(wall.because)
    const attempt = async () => [await wall.isToBlame(launch), JSON.stringify(wall.because) === known]`)
  expectDownUntil(found, [false, true])
})
