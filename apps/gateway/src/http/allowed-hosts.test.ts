import { expect, test } from 'vitest'
import { isAllowedHost, isAllowedOrigin, type Listener, ownHosts } from './allowed-hosts.ts'

const local: Listener = { host: '127.0.0.1', port: 7400 }
const open: Listener = { host: '0.0.0.0', port: 443, publicUrl: 'https://tools.example.com/base' }

test.each([
  [local, '127.0.0.1:7400'],
  [local, 'localhost:7400'],
  [local, 'LOCALHOST:7400'],
  [local, '[::1]:7400'],
  [open, 'tools.example.com'],
  [open, '10.1.2.3'],
  [open, '10.1.2.3:443'],
  [{ host: 'fd00::1', port: 7400 }, '[fd00::1]:7400'],
])('%j is asked for as %s', (listener, host) => {
  expect(isAllowedHost(host, listener)).toBe(true)
})

test.each([
  [local, undefined],
  [local, ''],
  [local, '127.0.0.1'],
  [local, '127.0.0.1:7401'],
  [local, 'evil.example:7400'],
  [local, '10.1.2.3:7400'],
  [local, 'localhost:7400:1'],
  [local, 'localhost.evil.example:7400'],
  [open, 'evil.example'],
  [open, 'tools.example.com:7400'],
])('%j is not asked for as %s', (listener, host) => {
  expect(isAllowedHost(host, listener)).toBe(false)
})

test('takes no origin, or its own, and no other', () => {
  expect(isAllowedOrigin(undefined, local)).toBe(true)
  expect(isAllowedOrigin('http://localhost:7400', local)).toBe(true)
  expect(isAllowedOrigin('https://tools.example.com', open)).toBe(true)
  expect(isAllowedOrigin('null', local)).toBe(false)
  expect(isAllowedOrigin('http://evil.example', local)).toBe(false)
  expect(isAllowedOrigin('http://localhost:7401', local)).toBe(false)
  expect(isAllowedOrigin('ftp://localhost:7400', local)).toBe(false)
})

test('every own host is an allowed one', () => {
  expect(ownHosts(local)).toEqual(new Set(['localhost:7400', '127.0.0.1:7400', '[::1]:7400']))
  expect([...ownHosts(open)]).toEqual(
    expect.arrayContaining(['tools.example.com', '127.0.0.1:443', 'localhost']),
  )
  for (const listener of [local, open])
    for (const host of ownHosts(listener)) expect(isAllowedHost(host, listener), host).toBe(true)
})
