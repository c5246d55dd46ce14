/** The client scenarios of the official suite, with a worker as the client. */
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { runClientSuite } from './run-suite.ts'

const expectedFailures = (revision: string) => [
  '--expected-failures',
  fileURLToPath(new URL(`./expected-failures-client-${revision}.yml`, import.meta.url)),
]

async function expectPass(...args: string[]): Promise<string> {
  const { code, output } = await runClientSuite(args)
  expect(code, output.slice(-20_000)).toBe(0)
  return output
}

// One process for each scenario: most of a minute each.
const revisions = process.env['SALLYPORT_TEST_ALL'] ? ['2025-11-25', '2026-07-28'] : ['2026-07-28']

test.each(revisions)(
  'meets what %s requires of a client, authorization and headers included',
  async (revision) => {
    const output = await expectPass('--requirements', revision, ...expectedFailures(revision))
    expect(output).toMatch(/✓ auth\/pre-registration/)
  },
  300_000,
)

// Extensions are not scored under a revision's requirements, so run by name or they could not fail.
test.each(['auth/client-credentials-basic', 'auth/client-credentials-jwt'])(
  'passes %s',
  async (scenario) => {
    expect(await expectPass('--scenario', scenario)).toMatch(/OVERALL: PASSED/)
  },
  60_000,
)

test('a client that cannot sign in fails the suite', async () => {
  const { code } = await runClientSuite(['--scenario', 'auth/wif-jwt-bearer'])
  expect(code).not.toBe(0)
}, 60_000)
