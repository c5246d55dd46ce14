import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { machineBusyMs, usageOf } from './usage.ts'

/** Of CPU time, so that a busy machine changes nothing. */
const burn = `const spent = ({ user, system }) => user + system; while (spent(process.cpuUsage()) < 300_000); console.log(1); setInterval(() => {}, 1000)`

test('a tree is told apart from a tree below it, and the sum is the whole', async () => {
  const parent = `require('child_process').spawn(process.execPath, ['-e', process.env.BURN], { stdio: 'inherit' }).pid`
  const env = { PATH: '', BURN: burn }
  const script = `process.stdout.write(String(${parent}) + ' '); setInterval(() => {}, 1000)`
  const before = machineBusyMs()
  const root = spawn(process.execPath, ['-e', script], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const pid = root.pid as number
  let said = ''
  while (!said.endsWith('1\n')) {
    const [chunk] = await once(root.stdout, 'data')
    said += String(chunk)
  }
  const child = Number.parseInt(said, 10)
  const [whole, upper, lower] = [
    usageOf(pid),
    usageOf(pid, [pid, child]),
    usageOf(child, [pid, child]),
  ]
  process.kill(child, 'SIGKILL')
  root.kill('SIGKILL')
  expect(lower.cpuMs).toBeGreaterThan(200)
  expect(upper.cpuMs).toBeLessThan(whole.cpuMs - 200)
  expect(lower.rssMib).toBeGreaterThan(20)
  expect(Math.abs(whole.rssMib - upper.rssMib - lower.rssMib)).toBeLessThan(5)
  expect(machineBusyMs() - before).toBeGreaterThan(200)
})
