import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { SteppedClock } from '../scripted-worker.ts'
import { NameFiles } from './name-files.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sallyport-names-'))
})
afterEach(() => rmSync(root, { recursive: true }))

const system = (name: string) => join(root, name)

test('the copies follow what the system puts in the place of its files, until it is stopped', () => {
  writeFileSync(system('resolv.conf'), 'nameserver 192.0.2.1\n')
  const clock = new SteppedClock(0)
  const files = new NameFiles(join(root, 'names'), clock, root)
  const copy = (name: string) => readFileSync(join(files.folder, name), 'utf8')
  files.start()
  expect(copy('resolv.conf')).toBe('nameserver 192.0.2.1\n')
  expect(statSync(files.folder).mode & 0o777).toBe(0o755)
  expect(() => copy('hosts')).toThrow('ENOENT')

  writeFileSync(system('new'), 'nameserver 192.0.2.2\n')
  renameSync(system('new'), system('resolv.conf'))
  writeFileSync(system('hosts'), '127.0.0.1 localhost\n')
  clock.step(2_000)
  expect([copy('resolv.conf'), copy('hosts')]).toEqual([
    'nameserver 192.0.2.2\n',
    '127.0.0.1 localhost\n',
  ])
  rmSync(system('hosts'))
  clock.step(2_000)
  expect(() => copy('hosts')).toThrow('ENOENT')

  files.stop()
  writeFileSync(system('resolv.conf'), 'nameserver 192.0.2.33\n')
  clock.step(60_000)
  expect(copy('resolv.conf')).toBe('nameserver 192.0.2.2\n')
})
