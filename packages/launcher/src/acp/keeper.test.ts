/** The program around the agent, outside of any sandbox. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { restartedMethod } from './conversation.ts'

const keeper = fileURLToPath(new URL('./keeper.mjs', import.meta.url))
/** Says its number, then each line that it hears; kills itself at `die`, and ends by itself at `end`. */
const agent = `
console.log(process.pid)
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === 'die') process.kill(process.pid, 'SIGKILL')
  if (line === 'end') process.exit(7)
  if (line === 'leave') {
    const { pid } = require('child_process').spawn('sleep', ['60'], { stdio: 'ignore' })
    return console.log(pid)
  }
  console.log('heard ' + line)
})`
const startedAgain = JSON.stringify({ jsonrpc: '2.0', method: restartedMethod })

/** False for a zombie too. */
function isAlive(pid: number): boolean {
  const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'utf8') : ') Z'
  return !/\) [ZX]/.test(stat)
}

let child: ChildProcess
afterEach(async () => {
  child.stdin?.end()
  child.kill('SIGTERM')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
})

function start() {
  child = spawn(process.execPath, [keeper, process.execPath, '-e', agent], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const { stdin, stdout } = child
  if (!stdin || !stdout) throw new Error('no pipes')
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]()
  return {
    say: (line: string) => stdin.write(`${line}\n`),
    next: async (): Promise<unknown> => (await lines.next()).value,
    end: () => stdin.end(),
    ended: once(child, 'exit'),
  }
}

test('an agent that is killed is started again, which is told in a line of its own, and hears what is said next', async () => {
  const one = start()
  const first = await one.next()
  one.say('die')
  expect([await one.next(), await one.next()]).toEqual(['', startedAgain])
  expect(await one.next()).not.toBe(first)
  one.say('hello')
  expect(await one.next()).toBe('heard hello')
})

test('what a killed agent has started is ended before it is started again', async () => {
  const one = start()
  await one.next()
  one.say('leave')
  const left = Number(await one.next())
  expect(isAlive(left)).toBe(true)
  one.say('die')
  expect([await one.next(), await one.next()]).toEqual(['', startedAgain])
  await expect.poll(() => isAlive(left)).toBe(false)
})

test('an agent that ends by itself ends the keeper with its code', async () => {
  const one = start()
  await one.next()
  one.say('end')
  expect(await one.ended).toEqual([7, null])
})

test('an agent that ends because nothing more is said is not started again', async () => {
  const one = start()
  await one.next()
  one.end()
  expect(await one.ended).toEqual([0, null])
})

test('an agent that is killed a fourth time is not started again', async () => {
  const one = start()
  for (let restarts = 0; restarts < 3; restarts++) {
    await one.next()
    one.say('die')
    expect([await one.next(), await one.next()]).toEqual(['', startedAgain])
  }
  await one.next()
  one.say('die')
  expect(await one.ended).toEqual([137, null])
})

test('a keeper that is told to end does not start it again', async () => {
  const one = start()
  const pid = Number(await one.next())
  child.kill('SIGTERM')
  expect(await one.ended).toEqual([0, null])
  await expect.poll(() => isAlive(pid)).toBe(false)
})
