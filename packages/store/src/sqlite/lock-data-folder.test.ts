import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockDataFolder } from './lock-data-folder.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-lock-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const inUse = expect.objectContaining({ code: 'data_in_use' }) as Error

/** Another process that holds the folder until it is killed. */
async function holder(data: string): Promise<ChildProcess> {
  const module = JSON.stringify(new URL('./lock-data-folder.ts', import.meta.url).href)
  const script = `import { lockDataFolder } from ${module}
    globalThis.lock = lockDataFolder(${JSON.stringify(data)})
    console.log('held')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  return child
}

test('makes a folder that only its owner enters', () => {
  const data = join(folder, 'a', 'b')
  const lock = lockDataFolder(data)
  expect(statSync(data).mode & 0o777).toBe(0o700)
  lock.release()
})

test('holds the folder against everybody in this process until released', () => {
  const lock = lockDataFolder(folder)
  expect(() => lockDataFolder(folder)).toThrow(inUse)
  lock.release()
  lockDataFolder(folder).release()
})

test('is held by another process until that is gone, however it ends', async () => {
  const child = await holder(folder)
  expect(() => lockDataFolder(folder)).toThrow(inUse)
  child.kill('SIGKILL')
  await once(child, 'exit')
  lockDataFolder(folder).release()
})

test('says when a folder cannot be made or written', () => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  const notWritable = expect.objectContaining({ code: 'data_not_writable' }) as Error
  expect(() => lockDataFolder(join(file, 'data'))).toThrow(notWritable)
  expect(() => lockDataFolder(file)).toThrow(notWritable)
  writeFileSync(join(folder, 'lock'), 'this is not what SQLite wrote '.repeat(99))
  expect(() => lockDataFolder(folder)).toThrow(notWritable)
})
