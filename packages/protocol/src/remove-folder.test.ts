import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { removeFolder } from './remove-folder.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sallyport-remove-'))
})
afterEach(() => rmSync(root, { recursive: true }))

const files = ['a', 'b', 'c', 'd', 'e', 'f']

/** Removes the files of each folder whose number it is given, at once. */
const other = `
  const { workerData: { at, root, files } } = require('node:worker_threads')
  const { unlinkSync } = require('node:fs')
  for (let done = 0; ; ) {
    Atomics.wait(at, 0, done)
    done = Atomics.load(at, 0)
    for (const file of files) try { unlinkSync(root + '/' + done + '/' + file) } catch {}
  }`

test('is gone also when somebody else removes its files at the same moment', async () => {
  const at = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(other, { eval: true, workerData: { at, root, files } })
  const left: number[] = []
  for (let number = 1; number <= 300; number++) {
    const folder = join(root, String(number))
    mkdirSync(folder)
    for (const file of files) writeFileSync(join(folder, file), '')
    Atomics.store(at, 0, number)
    Atomics.notify(at, 0)
    if (!removeFolder(folder) || existsSync(folder)) left.push(number)
  }
  await worker.terminate()
  expect(left).toEqual([])
})

test('what is not there is gone', () => {
  expect(removeFolder(join(root, 'none'))).toBe(true)
})
