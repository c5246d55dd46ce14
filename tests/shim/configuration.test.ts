/** A shim that is not told well enough where to go ends at once, and says why. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Shim, shimFile, tokenFile } from './start-shim.ts'

const folder = mkdtempSync(join(tmpdir(), 'sallyport-config-'))
afterAll(() => rmSync(folder, { recursive: true }))
const token = 'T'.repeat(43)
const url = 'http://127.0.0.1:9/mcp'
const write = (name: string, text: string, mode = 0o600): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  chmodSync(path, mode)
  return path
}
const good = write('good', `${token}\n`)
mkdirSync(join(folder, 'empty'))
const relays = { empty: join(folder, 'empty'), none: join(folder, 'none') }

test.each([
  ['nothing', [], 'usage:'],
  ['two ways', ['--socket', '/x', '--fd', '3'], 'usage:'],
  ['an unknown option', ['--token', token], 'usage:'],
  ['something behind', ['--socket', '/x', 'more'], 'usage:'],
  ['an empty socket', ['--socket', ''], 'usage:'],
  ['a URL without a token', ['--url', url], 'usage:'],
  ['two tokens', ['--url', url, '--token-file', good, '--token-fd', '3'], 'usage:'],
  ['a token for a socket', ['--socket', '/x', '--token-file', good], 'usage:'],
  ['a URL of another kind', ['--url', 'ftp://x/mcp', '--token-file', good], '--url must be http'],
  ['no URL', ['--url', 'x', '--token-file', good], 'Invalid URL'],
  [
    'a password in the URL',
    ['--url', 'http://u:hunter2@x/mcp', '--token-file', good],
    '--url must be http',
  ],
  [
    'a token in the URL',
    ['--url', `${url}?token=hunter2`, '--token-file', good],
    '--url must be http',
  ],
  ['no token file', ['--url', url, '--token-file', join(folder, 'none')], 'ENOENT'],
  ['a folder as token file', ['--url', url, '--token-file', folder], 'EISDIR'],
  [
    'a token file for the group',
    ['--url', url, '--token-file', write('g', token, 0o640)],
    'chmod 600',
  ],
  ['a token file for all', ['--url', url, '--token-file', write('a', token, 0o604)], 'chmod 600'],
  ['an empty token file', ['--url', url, '--token-file', write('e', '')], 'not the token'],
  ['a token that is none', ['--url', url, '--token-file', write('n', 'hunter2')], 'not the token'],
  ['a token descriptor that is not open', ['--url', url, '--token-fd', '77'], 'EBADF'],
  ['a descriptor that is no number', ['--fd', '3x'], 'numbers from 3 up'],
  ['a descriptor that is stdout', ['--fd', '1'], 'numbers from 3 up'],
  ['a descriptor that is not open', ['--fd', '77'], 'EBADF'],
  ['a device that is not there', ['--device', join(folder, 'none')], 'ENOENT'],
  ['a relay folder that is not there', ['--relay', relays.none], 'nobody answers'],
  ['a relay folder of nobody', ['--relay', relays.empty], 'nobody answers'],
  ['a connection that is no name', ['--socket', '/x', '--connection', '../api'], 'usage:'],
])('with %s', (_what, args, says) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [shimFile, ...args], {
    encoding: 'utf8',
    input: '{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
    timeout: 10_000,
  })
  expect(stderr).toContain(says)
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).not.toMatch(/hunter2|TTTT/)
})

test('a socket that is not there yet is no mistake: its gateway may come', async () => {
  const shim = new Shim({ args: ['--socket', join(folder, 'later.sock')] })
  const answer = await shim.ask('tools/call', { name: 'x', arguments: {} })
  expect(answer.result.isError).toBe(true)
  expect(answer.result.content[0].text).toContain('gateway_unreachable')
  expect(answer.result.content[0].text).toContain('Nothing was sent')
  await shim.kill()
})

test('the token stands in no argument and no environment', async () => {
  const file = tokenFile(token)
  const shim = new Shim({ args: ['--url', url, '--token-file', file.path] })
  await shim.ask('tools/call', { name: 'x' })
  const seen = ['cmdline', 'environ'].map((name) =>
    readFileSync(`/proc/${shim.pid}/${name}`, 'utf8'),
  )
  expect(seen.join()).toContain('--token-file')
  expect(seen.join()).not.toContain(token)
  await shim.kill()
  file.remove()
})
