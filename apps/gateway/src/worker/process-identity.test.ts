import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { identifyProcess, isProvedGone, type ProcessIdentity } from './process-identity.ts'

type Born = NonNullable<ProcessIdentity['born']>
const self = identifyProcess(process.pid) as ProcessIdentity
const other = (changed: Partial<Born>): ProcessIdentity => ({
  pid: self.pid,
  born: { ...(self.born as Born), ...changed },
})

test('a running process is not proved gone, an ended one is', async () => {
  const child = spawn('/bin/cat')
  const identity = identifyProcess(child.pid as number) as ProcessIdentity
  expect(isProvedGone(identity)).toBe(false)
  child.kill()
  await once(child, 'exit')
  expect(isProvedGone(identity)).toBe(true)
  expect(identifyProcess(identity.pid)).toBeUndefined()
})

test('a later process with the same number is another one', () => {
  expect(isProvedGone(other({}))).toBe(false)
  expect(isProvedGone(other({ start: '1' }))).toBe(true)
})

test('no process survives a boot', () => {
  expect(isProvedGone(other({ boot: 'earlier' }))).toBe(true)
})

test('a process of another pid namespace cannot be judged', () => {
  expect(isProvedGone(other({ namespace: 'pid:[1]', start: '1' }))).toBe(false)
})
