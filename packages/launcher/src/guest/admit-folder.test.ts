import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { admitFolder } from './admit-folder.ts'

let root: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-admit-')))
  mkdirSync(join(root, 'home/data/guests'), { recursive: true })
  mkdirSync(join(root, 'home/work/inner'), { recursive: true })
  mkdirSync(join(root, 'home/data-of-another'))
})
afterEach(() => rmSync(root, { recursive: true }))

const admit = (path: string, data = 'home/data') =>
  admitFolder(join(root, path), join(root, data), 'workspace')
const refused = (code = 'workspace_refused') =>
  expect.objectContaining({ code, field: 'workspace' })

test('admits a folder beside the data folder, by its real path', () => {
  symlinkSync(join(root, 'home/work'), join(root, 'link'))
  expect(admit('link/inner')).toBe(join(root, 'home/work/inner'))
  expect(admit('home/data-of-another')).toBe(join(root, 'home/data-of-another'))
})

test.each([
  ['contains the data folder', 'home'],
  ['is the data folder', 'home/data'],
  ['lies in the data folder', 'home/data/guests'],
])('refuses a workspace that %s, by any name', (_what, path) => {
  expect(() => admit(path)).toThrow(refused())
  symlinkSync(join(root, path), join(root, 'link'))
  expect(() => admit('link')).toThrow(refused())
  expect(() => admit(`home/work/../../${path}`)).toThrow(refused())
})

test('refuses it too when the data folder is called by another name', () => {
  symlinkSync(join(root, 'home/data'), join(root, 'elsewhere'))
  expect(() => admit('home', 'elsewhere')).toThrow(refused())
  expect(() => admit('home/data', 'elsewhere')).toThrow(refused())
})

test('refuses what would contain a data folder that is still to be made, and no more', () => {
  expect(() => admit('home', 'home/later/data')).toThrow(refused())
  expect(admit('home/work', 'home/later/data')).toBe(join(root, 'home/work'))
})

test('what is not there, or no folder, is unreadable', () => {
  expect(() => admit('home/nothing')).toThrow(refused('file_unreadable'))
  writeFileSync(join(root, 'home/work/file'), '')
  expect(() => admit('home/work/file')).toThrow(refused('file_unreadable'))
})
