import { expect, test } from 'vitest'
import { parseOptions } from './options.ts'

const needed = ['--socket', '/run/w.sock', '--cert', 'c', '--key', 'k', '--ca', 'a']
const parse = (...args: string[]) => parseOptions([...needed, '--vault-key-fd', '3', ...args])

test('without a word of the operator there are no rules and no proxy', () => {
  expect(parse()).toMatchObject({ egressRules: undefined, egressProxy: undefined })
})

test('rules are handed on as they are written, each as often as it is', () => {
  const { egressRules } = parse(
    '--deny-host=*.evil.dev',
    '--deny-host=8.8.8.0/24',
    '--allow-host',
    'mcp.dev',
    '--allow-private=con_x=10.0.0.0/8',
  )
  expect(egressRules).toEqual({
    deny: ['*.evil.dev', '8.8.8.0/24'],
    allow: ['mcp.dev'],
    allowPrivate: ['con_x=10.0.0.0/8'],
  })
})

test('a proxy is a URL, and resolves names only when it is said to', () => {
  const proxy = { host: 'proxy.corp', port: 3128 }
  const url = '--egress-proxy=http://proxy.corp:3128'
  expect(parse(url).egressProxy).toEqual({ ...proxy, resolves: false })
  expect(parse(url, '--egress-proxy-resolves').egressProxy).toEqual({ ...proxy, resolves: true })
  expect(() => parse('--egress-proxy=http://u:p@proxy.corp')).toThrow(TypeError)
  expect(() => parse('--egress-proxy-resolves')).toThrow(TypeError)
})
