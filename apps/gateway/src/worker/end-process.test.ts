import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { endGroup, endProcess } from './end-process.ts'
import { identifyProcess, isProvedGone, type ProcessIdentity } from './process-identity.ts'

const waits = { SIGTERM: 300, SIGKILL: 5_000 }

async function run(script: string): Promise<{ child: ChildProcess; identity: ProcessIdentity }> {
  const child = spawn(process.execPath, [
    '-e',
    `${script}; setInterval(() => {}, 1000); console.log('up')`,
  ])
  await once(child.stdout, 'data')
  return { child, identity: identifyProcess(child.pid as number) as ProcessIdentity }
}

test('ends a process that obeys by asking it', async () => {
  const { child, identity } = await run('')
  expect(await endProcess(identity)).toBe(true)
  expect(identifyProcess(identity.pid)).toBeUndefined()
  expect(child.signalCode ?? 'SIGTERM').toBe('SIGTERM')
})

test('kills a process that does not end when asked', async () => {
  const { child, identity } = await run("process.on('SIGTERM', () => {})")
  const exited = once(child, 'exit')
  expect(await endProcess(identity, waits)).toBe(true)
  expect(await exited).toEqual([null, 'SIGKILL'])
})

test('leaves a later process with the same number alone', async () => {
  const { child, identity } = await run('')
  const born = { ...(identity.born as NonNullable<ProcessIdentity['born']>), start: '1' }
  expect(await endProcess({ pid: identity.pid, born }, waits)).toBe(true)
  expect(identifyProcess(identity.pid)).toEqual(identity)
  child.kill('SIGKILL')
  await once(child, 'exit')
})

test('a group ends with the process that leads it', async () => {
  const script = 'sleep 60 & echo $!; wait'
  const leader = spawn('sh', ['-c', script], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const member = Number(String((await once(leader.stdout, 'data'))[0]))
  const [first, second] = [leader.pid as number, member].map(identifyProcess)
  expect(await endGroup(first as ProcessIdentity)).toBe(true)
  await expect.poll(() => isProvedGone(second as ProcessIdentity)).toBe(true)
})
