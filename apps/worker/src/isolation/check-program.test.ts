import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

let root: string
let program: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sallyport-program-'))
  chmodSync(root, 0o755)
  program = join(root, 'dist')
  mkdirSync(program, { mode: 0o755 })
  for (const name of ['worker.js', 'later.js', 'notes'])
    writeFileSync(join(program, name), '', { mode: 0o644 })
})
afterEach(() => rmSync(root, { recursive: true }))

/** By somebody who is not root; the owner, where that is who runs this. */
function complaint(): string {
  const of = (name: string) => JSON.stringify(join(import.meta.dirname, name))
  const become = process.getuid?.() === 0 ? 'becomeUser({ uid: 61184, gid: 61184 })' : ''
  const code = `
    const { becomeUser } = await import(${of('become-user.ts')})
    const { checkProgram } = await import(${of('check-program.ts')})
    ${become}
    try { checkProgram(${JSON.stringify(program)}) } catch (thrown) { console.log(thrown.message) }`
  return execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' })
}

test('a program that may be read is not complained of', () => {
  chmodSync(join(program, 'notes'), 0)
  expect(complaint()).toBe('')
})

test.each([
  ['a folder', '', 0],
  ['a folder that is only listed', '', 0o444],
  ['a part of it', 'later.js', 0],
])('%s that may not be read is named, with what to do', (_what, name, mode) => {
  const path = join(program, name)
  chmodSync(path, mode)
  const told = complaint()
  chmodSync(path, 0o700)
  expect(told).toMatch(/^user [1-9]\d*, who is the worker, may not read /)
  expect(told).toContain(` ${path}: `)
  expect(told).toContain(`("chmod -R a+rX ${program}"), or move it`)
})
