import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'

const script = join(import.meta.dirname, '..', 'scripts', 'demo.ts')
const temporary = mkdtempSync(join(tmpdir(), 'sallyport-demo-test-'))
afterAll(() => rmSync(temporary, { recursive: true }))

const minute = 60_000

async function runDemo(...flags: string[]) {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [script, ...flags], { env: { PATH, TMPDIR: temporary } })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const [code] = await once(child, 'close')
  return { code, stdout, stderr }
}

test('the demo calls a legacy and a 2026-07-28 server through Sallyport and leaves nothing behind', {
  timeout: 2 * minute,
}, async () => {
  const { code, stdout, stderr } = await runDemo()
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('everything__echo {"message":"Good day"}\n    Echo: Good day\n')
  expect(stdout).toMatch(/structured: \{"temperature":\d+,"conditions":".+","humidity":\d+\}/)
  expect(stdout).toContain('    Hello, Ada.\n')
  expect(stdout).toMatch(/structured: \{"total":\d+\}/)
  expect(stdout).toContain('error: arguments_refused: ')
  expect(stdout.match(/exe_\w+ +succeeded/g)).toHaveLength(5)
  expect(readdirSync(temporary)).toEqual([])
})

test('the demo with its servers stopped fails and says why', { timeout: 2 * minute }, async () => {
  const { code, stderr } = await runDemo('--break-upstream')
  expect(code).toBe(1)
  expect(stderr).toContain('The demo failed: a call did not succeed: upstream_unreachable: ')
  expect(readdirSync(temporary)).toEqual([])
})
