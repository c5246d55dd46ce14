import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readlinkSync } from 'node:fs'
import { expect, test } from 'vitest'
import { identifyProcess } from '../worker/process-identity.ts'
import { isOwnerGone } from './owner-gone.ts'

const bornOf = (pid: number) => {
  const { born } = identifyProcess(pid) ?? {}
  if (!born) throw new Error('no /proc')
  return { pid, ...born }
}

test('a launcher that runs is not gone; one that ended is', async () => {
  const child = spawn('sleep', ['1000'])
  const owner = bornOf(child.pid as number)
  expect(isOwnerGone(owner)).toBe(false)
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(isOwnerGone(owner)).toBe(true)
})

test('a later process with its number is not the launcher', () => {
  expect(isOwnerGone({ ...bornOf(process.pid), start: '1' })).toBe(true)
})

test('nothing is proved of a process of another pid namespace', () => {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  const elsewhere = { pid: 2 ** 22 + 1, boot, start: '1' }
  expect(isOwnerGone({ ...elsewhere, namespace: 'pid:[1]' })).toBe(false)
  expect(isOwnerGone({ ...elsewhere, namespace: readlinkSync('/proc/self/ns/pid') })).toBe(true)
})

test('a machine that was started again runs nothing of before', () => {
  expect(isOwnerGone({ ...bornOf(process.pid), boot: 'earlier' })).toBe(true)
})
