/** The flags of "up" that say where the worker may go, in a whole Sallyport. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isolationProblem, isolationTitle, runIsolated } from './isolated-network.ts'
import type { UpReport } from './up-report.ts'

const program = fileURLToPath(new URL('inside/up-main.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'sallyport-up-'))
afterAll(() => rmSync(folder, { recursive: true }))

const blocked = 'upstream_blocked_address'

describe.skipIf(isolationProblem)(isolationTitle, () => {
  let report: UpReport
  beforeAll(async () => {
    report = await runIsolated<UpReport>({
      program,
      env: {
        FOLDER: folder,
        HTTPS_PROXY: 'http://93.184.215.66:1',
        NODE_TLS_REJECT_UNAUTHORIZED: '0',
      },
    })
  })

  test('by default a stranger’s certificate and a private network are refused', () => {
    expect(report.bare).toEqual({ dev: 'upstream_tls', corp: blocked, other: blocked })
  })

  test('authorities of the operator are believed, and a private network is open to its connection', () => {
    expect(report.allowed).toEqual({ dev: 'found', corp: 'found', other: blocked })
  })

  test('what is denied is not reached, also where it is allowed', () => {
    expect(report.denied).toEqual({ dev: blocked, corp: blocked, other: blocked })
  })

  test('with a list of what is allowed, nothing else is reached', () => {
    expect(report.listed).toEqual({ dev: blocked, corp: 'found', other: blocked })
  })

  test('the proxy of the operator is the way to what is public, and not to what is near', () => {
    expect(report.proxied).toEqual({ dev: 'found', corp: 'found', other: blocked })
    expect(report.asked).toEqual(['93.184.215.14:443'])
  })

  test('the worker hears of it by its arguments; its environment stays empty', () => {
    expect(report.environment).toMatch(/^(?:PWD=\/\0)?$/)
    expect(report.command).toContainEqual(expect.stringMatching(/^--egress-proxy=http:/))
    expect(report.command).toContain(`--upstream-ca=${join(folder, 'upstream-ca.pem')}`)
  })

  test('what the worker cannot understand keeps everything from starting', () => {
    expect(report.misunderstood).toMatch(/worker_not_started|usage/)
  })
})
