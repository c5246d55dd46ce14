import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import { bornProcess } from './born-process.ts'
import { endGuest } from './end-guest.ts'
import { fateOf } from './fate.ts'

const children: ChildProcess[] = []
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
})

function sleeper(): ChildProcess {
  const child = spawn('sleep', ['1000'])
  children.push(child)
  return child
}

const bornOf = (child: ChildProcess) => {
  const born = bornProcess(child.pid as number)
  if (!born) throw new Error('it has ended')
  return born
}
const patienceMs = 300

test('ends the first process and what started it, and proves both gone', async () => {
  const [first, starter] = [sleeper(), sleeper()]
  const born = bornOf(first)
  expect(fateOf(born)).toBe('running')
  expect(await endGuest({ first: born, starter, members: () => [], patienceMs: 5_000 })).toEqual({
    state: 'gone',
  })
  expect(fateOf(born)).toBe('gone')
  expect(starter.signalCode).toBe('SIGKILL')
})

test('what was seen of it while its first process ran is ended too, and named while it is there', async () => {
  const [first, starter, other] = [sleeper(), sleeper(), sleeper()]
  const held = { first: bornOf(first), starter }
  const hidden = { ...bornOf(other), namespace: 'pid:[1]' }
  const stuck = await endGuest({ ...held, patienceMs, members: () => [hidden] })
  expect(stuck).toEqual({ state: 'unresolved', reason: `processes ${other.pid} have not ended` })
  expect(other.signalCode).toBeNull()
  const again = sleeper()
  const members = (isFirstRunning: boolean) => (isFirstRunning ? [bornOf(other)] : [])
  expect(await endGuest({ first: bornOf(again), starter, patienceMs: 5_000, members })).toEqual({
    state: 'gone',
  })
  expect(other.signalCode ?? fateOf(hidden)).toBeTruthy()
})

test('a later process with the number of the first is left alone', async () => {
  const [other, starter] = [sleeper(), sleeper()]
  const first = { ...bornOf(other), start: '1' }
  expect(await endGuest({ first, starter, members: () => [], patienceMs: 5_000 })).toEqual({
    state: 'gone',
  })
  expect(other.signalCode).toBeNull()
})

test('a number of another pid namespace says nothing about a process here', async () => {
  const [other, starter] = [sleeper(), sleeper()]
  const first = { ...bornOf(other), namespace: 'pid:[1]' }
  const ended = await endGuest({ first, starter, members: () => [], patienceMs })
  expect(ended).toMatchObject({ state: 'unresolved' })
  expect(other.signalCode).toBeNull()
})

/** Ends a guest as a user who may not. */
const program = `
import { endGuest } from ${JSON.stringify(new URL('./end-guest.ts', import.meta.url).pathname)}
const first = JSON.parse(process.argv[1])
const starter = { exitCode: 0, signalCode: null, kill: () => true }
console.log(JSON.stringify(await endGuest({ first, starter, members: () => [], patienceMs: 200 })))
`

test('not being allowed to end it is not its end', async (context) => {
  if (process.getuid?.() !== 0) return context.skip('only root can become another user')
  const first = sleeper()
  const born = bornOf(first)
  const words = ['--input-type=module', '-e', program, JSON.stringify(born)]
  const asOther = spawn(process.execPath, words, { uid: 65_534, gid: 65_534, stdio: 'pipe' })
  const [output, complaint] = await Promise.all([text(asOther.stdout), text(asOther.stderr)])
  if (/EACCES|permission denied/i.test(complaint))
    return context.skip('another user cannot read this checkout')
  expect(JSON.parse(output)).toEqual({
    state: 'unresolved',
    reason: `its first process, ${born.pid}: has not ended`,
  })
  expect(fateOf(born)).toBe('running')
  expect(
    await endGuest({ first: born, starter: first, members: () => [], patienceMs: 5_000 }),
  ).toEqual({ state: 'gone' })
  return undefined
})
