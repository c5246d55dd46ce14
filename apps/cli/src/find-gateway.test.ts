import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findGateway } from './find-gateway.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-cli-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const guestUrl = 'http://127.0.0.1:7411'

function upRuns(data: string, url: string, pid: number): void {
  mkdirSync(data, { recursive: true })
  writeFileSync(join(data, 'admin-token'), 'admin-secret\n')
  writeFileSync(join(data, 'endpoint.json'), JSON.stringify({ url, guestUrl, pid }))
}

/** Above every pid a Linux kernel gives out. */
const deadPid = 2 ** 22 + 1

test('the environment comes first', async () => {
  upRuns(folder, 'http://127.0.0.1:7410', process.pid)
  const file = join(folder, 'mine')
  writeFileSync(file, 'my-token\n')
  const env = { SALLYPORT_DATA: folder, SALLYPORT_URL: 'https://sallyport.example/' }
  expect(await findGateway({ ...env, SALLYPORT_TOKEN: 'a' })).toMatchObject({
    url: 'https://sallyport.example',
    token: 'a',
  })
  const both = { ...env, SALLYPORT_TOKEN: 'a', SALLYPORT_TOKEN_FILE: file }
  expect(await findGateway(both)).toMatchObject({ token: 'my-token' })
})

test.each([
  ['SALLYPORT_DATA', (home: string) => ({ SALLYPORT_DATA: join(home, 'sallyport') })],
  ['XDG_DATA_HOME', (home: string) => ({ XDG_DATA_HOME: home })],
])('else the data folder of %s', async (_, env) => {
  upRuns(join(folder, 'sallyport'), 'http://127.0.0.1:7410', process.pid)
  expect(await findGateway(env(folder))).toMatchObject({
    url: 'http://127.0.0.1:7410',
    token: 'admin-secret',
  })
})

test('else the data folder below the home', async () => {
  const data = join(folder, '.local', 'share', 'sallyport')
  upRuns(data, 'http://127.0.0.1:7410', process.pid)
  for (const XDG_DATA_HOME of [undefined, '', 'relative'])
    expect(await findGateway({ HOME: folder, XDG_DATA_HOME })).toMatchObject({
      token: 'admin-secret',
    })
})

test('else the default address, without a token', async () => {
  expect(await findGateway({ SALLYPORT_DATA: folder })).toEqual({
    url: 'http://127.0.0.1:7400',
    token: undefined,
    whenUnreachable: 'Start it with "sallyport up", or name another with SALLYPORT_URL.',
  })
})

test.each([
  ['the process of up has ended', 'http://127.0.0.1:7410', deadPid, {}],
  ['another port is named', 'http://127.0.0.1:7410', 0, { SALLYPORT_URL: 'http://127.0.0.1:9' }],
  ['another host is named', 'http://127.0.0.1:7410', 0, { SALLYPORT_URL: 'https://a.example' }],
])('the administrator token stays here when %s', async (_, url, pid, env) => {
  upRuns(folder, url, pid || process.pid)
  const { token } = await findGateway({ SALLYPORT_DATA: folder, ...env })
  expect(token).toBeUndefined()
})

test('the same listener may be named another way', async () => {
  upRuns(folder, 'http://127.0.0.1:7410', process.pid)
  const env = { SALLYPORT_DATA: folder, SALLYPORT_URL: 'http://localhost:7410' }
  expect(await findGateway(env)).toMatchObject({ token: 'admin-secret' })
})

test.each(['http://a.example', 'ftp://127.0.0.1', 'https://u:p@a.example', 'nonsense'])(
  'refuses to send a token to %s',
  async (url) => {
    const env = { SALLYPORT_URL: url, SALLYPORT_TOKEN: 't' }
    await expect(findGateway(env)).rejects.toMatchObject({ code: 'usage' })
  },
)

test('a token file that cannot be read, or holds no token, is said', async () => {
  const absent = { SALLYPORT_TOKEN_FILE: join(folder, 'absent') }
  await expect(findGateway(absent)).rejects.toMatchObject({ code: 'file_unreadable' })
  await expect(findGateway({ SALLYPORT_TOKEN: 'a b' })).rejects.toMatchObject({
    code: 'not_authenticated',
  })
})
