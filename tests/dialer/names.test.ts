/** Tricks with names and proxies, played in a network of its own where every address is this machine. */
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { isolationProblem, isolationTitle, runIsolated } from './isolated-network.ts'
import { nameTricks } from './tricks/name-tricks.ts'
import { proxyTricks } from './tricks/proxy-tricks.ts'

const program = fileURLToPath(new URL('inside/names-main.ts', import.meta.url))
const hosts = '10.0.0.1 written-private.dev\n93.184.215.15 written-open.dev\n'
const proxy = 'http://93.184.215.66:8443'
const env = {
  HTTPS_PROXY: proxy,
  https_proxy: proxy,
  ALL_PROXY: proxy,
  HTTP_PROXY: proxy,
  NODE_USE_ENV_PROXY: '1',
}
const all = [...nameTricks, ...proxyTricks]

test('no two tricks have one name', () => {
  expect(new Set(all.map(({ what }) => what)).size).toBe(all.length)
})

describe.skipIf(isolationProblem)(isolationTitle, () => {
  let problems: Readonly<Record<string, string | null>>
  beforeAll(async () => {
    problems = await runIsolated({ program, hosts, env })
  })

  test.each(all)('$what', ({ what }) => {
    expect(problems[what]).toBeNull()
  })
})
