import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthority } from '@sallyport/protocol/node'
import { afterAll, expect, test } from 'vitest'
import { parseUpOptions, UsageError, usage } from './options.ts'

const folder = mkdtempSync(join(tmpdir(), 'sallyport-egress-'))
afterAll(() => rmSync(folder, { recursive: true }))

const id = 'con_0123456789abcdefghjkmnpqrs'
const hook = 'whk_0123456789abcdefghjkmnpqrs'
const parse = (...args: string[]) => parseUpOptions(args, { HOME: folder })?.egress

test('without flags the worker is told nothing', () => {
  expect(parse()).toEqual([])
})

test('what is said about where to go is handed to the worker as it is', () => {
  const ca = join(folder, 'ca.pem')
  writeFileSync(ca, createAuthority({ commonName: 'ours', days: 1 }).certificatePem)
  const given = [
    `--upstream-ca=${ca}`,
    '--deny-host=*.evil.dev',
    '--deny-host=bücher.dev',
    '--deny-host=8.8.8.0/24',
    '--allow-host=mcp.dev',
    '--allow-host=2001:4860::/32',
    `--allow-private=${id}=10.0.0.0/8`,
    `--allow-private=${hook}=fd00::/8`,
    '--egress-proxy=http://proxy.corp:3128',
    '--egress-proxy-resolves',
  ]
  expect(parse(...given)).toEqual(given)
})

test.each([
  '--deny-host=',
  '--deny-host=https://mcp.dev',
  '--deny-host=a b',
  '--allow-host=mcp.dev:443',
  '--allow-host=10.0.0.0/8/8',
  '--allow-private=10.0.0.0/8',
  `--allow-private=${id}`,
  `--allow-private=${id}=mcp.dev`,
  '--allow-private=name=10.0.0.0/8',
  `--allow-private=${id}=10.0.0.0/8=x`,
  '--egress-proxy=proxy:3128',
  '--egress-proxy=https://proxy:3128',
  '--egress-proxy=http://ada:secret@proxy:3128',
  '--egress-proxy-resolves',
])('%s is a mistake in usage', (flag) => {
  expect(() => parse(flag)).toThrow(UsageError)
})

test('authorities that cannot be read are told before anything starts', () => {
  const garbage = join(folder, 'garbage.pem')
  writeFileSync(garbage, 'no certificate')
  for (const path of [garbage, join(folder, 'none.pem')])
    expect(() => parse(`--upstream-ca=${path}`)).toThrow(
      expect.objectContaining({ code: 'bad_certificate' }),
    )
})

test('a proxy of the environment is not handed on', () => {
  const env = { HOME: folder, HTTPS_PROXY: 'http://127.0.0.1:9', https_proxy: 'http://127.0.0.1:9' }
  expect(parseUpOptions([], env)?.egress).toEqual([])
})

test('each is in the help', () => {
  for (const flag of ['upstream-ca', 'deny-host', 'allow-host', 'allow-private', 'egress-proxy'])
    expect(usage).toContain(`--${flag} `)
})
