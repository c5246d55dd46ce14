import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

const vitest = join(
  dirname(createRequire(import.meta.url).resolve('vitest/package.json')),
  'vitest.mjs',
)
const lacks = 'Nothing of it is here.'
let folder: string

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-suite-')))
  const suite = join(import.meta.dirname, 'sandbox-suite.ts')
  const sandbox = `{ isolation: 'bubblewrap', lacks: async () => '${lacks}' }`
  const never = `() => { throw new Error('declared') }`
  const text = `import { sandboxSuite } from '${suite}'\nawait sandboxSuite(${sandbox}, ${never})\n`
  writeFileSync(join(folder, 'a.test.js'), text)
})
afterAll(() => rmSync(folder, { recursive: true }))

test.each([
  ['says by name that it did not run', {}, 0, 'skipped'],
  ['has failed where it is required', { SALLYPORT_REQUIRE_SANDBOX: '1' }, 1, 'failed'],
])('a suite whose sandbox cannot be made %s', (_what, asked, code, state) => {
  const report = join(folder, `${state}.json`)
  const args = [vitest, 'run', '--root', folder, '--reporter', 'json', '--outputFile', report]
  const { PATH = '' } = process.env
  const env = { PATH, ...asked }
  const { status } = spawnSync(process.execPath, args, { env })
  const { assertionResults } = JSON.parse(readFileSync(report, 'utf8')).testResults[0]
  expect(assertionResults).toMatchObject([
    { title: `bubblewrap: not run here. ${lacks}`, status: state },
  ])
  expect(status).toBe(code)
})
