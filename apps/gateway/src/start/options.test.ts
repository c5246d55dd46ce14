import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createAuthority } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
import { parseUpOptions, type UpOptions, UsageError } from './options.ts'

const parse = (args: string, env: NodeJS.ProcessEnv = {}) =>
  parseUpOptions(args === '' ? [] : args.split(' '), env)

test.each<[string, UpOptions['worker']]>([
  ['/run/worker.sock', { path: '/run/worker.sock' }],
  ['127.0.0.1:7402', { host: '127.0.0.1', port: 7402 }],
  ['[::1]:7402', { host: '::1', port: 7402 }],
])('a worker that runs already is named by %s', (text, worker) => {
  expect(parseUpOptions(['--worker', text], {})?.worker).toEqual(worker)
})

test.each([
  ['--worker', 'worker.sock'],
  ['--worker', '/w', '--vault-key-file', 'k'],
  ['--worker', '/w', '--deny-host', 'example.org'],
  ['--worker-isolation', 'some'],
])('refuses %s %s %s %s', (...args) => {
  const given = args.filter((one) => one !== undefined)
  expect(() => parseUpOptions(given, {})).toThrow(UsageError)
})

test('isolates the worker as far as the machine lets it, unless told otherwise', () => {
  expect(parseUpOptions([], {})?.workerIsolation).toBe('auto')
  expect(parseUpOptions(['--worker-isolation', 'require'], {})?.workerIsolation).toBe('require')
})

test('binds to loopback with the next port for guests, and allows no local upstreams, by default', () => {
  expect(parse('', { HOME: '/home/ada' })).toMatchObject({
    dataDir: '/home/ada/.local/share/sallyport',
    host: '127.0.0.1',
    port: 7400,
    guestPort: 'next',
    databaseUrl: undefined,
    localUpstreams: false,
    isRestored: false,
    json: false,
  })
})

test('takes the data folder from the flag, then SALLYPORT_DATA, then XDG', () => {
  const env = { SALLYPORT_DATA: '/srv/a', XDG_DATA_HOME: '/srv/x' }
  expect(parse('--data /srv/b', env)?.dataDir).toBe('/srv/b')
  expect(parse('', env)?.dataDir).toBe('/srv/a')
  expect(parse('', { XDG_DATA_HOME: '/srv/x' })?.dataDir).toBe('/srv/x/sallyport')
})

test('takes a data key file from the flag, from wherever it was started', () => {
  expect(parse('')?.dataKeyFile).toBeUndefined()
  expect(parse('--data-key-file /srv/data.key')?.dataKeyFile).toBe('/srv/data.key')
  expect(parse('--data-key-file data.key')?.dataKeyFile).toBe(resolve('data.key'))
})

test('takes the place of the vault key from one flag, else a file from the environment', () => {
  const env = { SALLYPORT_VAULT_KEY_FILE: '/srv/vault.key' }
  expect(parse('')?.vaultKey).toBeUndefined()
  expect(parse('', env)?.vaultKey).toEqual({ file: '/srv/vault.key' })
  expect(parse('--vault-key-file v.key', env)?.vaultKey).toEqual({ file: resolve('v.key') })
  expect(parse('--vault-key-fd 5', env)?.vaultKey).toEqual({ descriptor: 5 })
  for (const command of ['/bin/kms get key', '["/bin/k m s","get"]']) {
    const given = parseUpOptions(['--vault-key-command', command], env)
    expect(given?.vaultKey).toEqual({ command })
  }
})

test('takes the database from an argument, the first line of a file, or the environment', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-options-'))
  const file = join(folder, 'database')
  const url = 'postgres://u:secret@h/d'
  writeFileSync(file, `${url} \r\npostgres://other/\n`)
  const by = { flag: `--database ${url}`, file: `--database-file ${file}` }
  const env = { SALLYPORT_DATABASE: url }
  const found = [parse(by.flag), parse(by.file), parse('', env)]
  expect(found.map((one) => one?.databaseUrl)).toEqual([url, url, url])
  expect(found.map((one) => one?.isPasswordShown)).toEqual([true, false, false])
  for (const args of [by.flag, by.file]) expect(() => parse(args, env)).toThrow('only one of')
  expect(parse(by.file, { SALLYPORT_DATABASE: '' })?.databaseUrl).toBe(url)
  expect(() => parse('', { SALLYPORT_DATABASE: 'mysql://secret' })).toThrow(
    'SALLYPORT_DATABASE takes a postgres:// URL',
  )
  rmSync(folder, { recursive: true })
})

test.each([
  ['postgres://u@h/d', false],
  ['postgres://u@h:5432/d?host=/run', false],
  ['postgres://u:p@h/d', true],
  ['postgresql://h/d?user=u&password=p', true],
])('%s shows a password: %s', (url, isShown) => {
  expect(parse(`--database ${url}`)?.isPasswordShown).toBe(isShown)
})

test.each([
  'postgres://u:secret@h/d',
  '--database mysql://u:secret@h/d',
  '--json=postgres://u:secret@h/d',
  'postgres://h/d?password=secret',
  '--database-file postgres://u:secret@h/d',
  '--database-file=postgres://h/d?password=secret',
])('no mistake in usage tells a password: %s', (args) => {
  expect(() => parse(args)).toThrow(UsageError)
  expect(() => parse(args)).not.toThrow('secret')
})

test('of a stray URL nothing is told but its scheme, whatever its password looks like', () => {
  for (const secret of ['a b@c', "a'b", "a'. b", 'a\nb'])
    expect(() => parseUpOptions([`postgres://u:${secret}@h/d`], {})).toThrow(
      /^Unexpected argument 'postgres:\/\/…'\. This command/,
    )
})

test('asks for help by answering nothing', () => {
  expect(parse('--help')).toBeUndefined()
})

test.each([
  ['--port 70000', 'not a port'],
  ['--port 74x', 'not a port'],
  ['--guest-port -1', ''],
  ['--nonsense', ''],
  ['stray', ''],
  ['--database mysql://x', 'postgres'],
  ['--database-file /none/there', 'cannot be read (ENOENT)'],
  ['--database-file /dev/null', 'no postgres:// URL'],
  ['--database postgres://h/d --database-file /dev/null', 'only one of'],
  ['--database postgres://u:p@h/d --database postgres://h/d', 'only one of'],
  ['--behind-tls', '--public-url'],
  ['--public-url nonsense', 'no URL'],
  ['--tls-cert a.pem', 'go together'],
  ['--vault-key-file a --vault-key-fd 5', 'only one of'],
  ['--vault-key-fd 2', 'not a descriptor'],
  ['--vault-key-fd x', 'not a descriptor'],
  ['--vault-key-command kms', 'whole path'],
])('%s is a mistake in usage', (args, words) => {
  expect(() => parse(args)).toThrow(UsageError)
  expect(() => parse(args)).toThrow(words)
})

test('listens beyond this machine only with TLS, or behind it', () => {
  expect(() => parse('--host 0.0.0.0')).toThrow(expect.objectContaining({ code: 'tls_required' }))
  expect(parse('--host 0.0.0.0 --behind-tls --public-url https://x.example/')).toMatchObject({
    publicUrl: 'https://x.example',
  })
  for (const host of ['127.0.0.1', '::1', 'localhost'])
    expect(parse(`--host ${host}`)).toMatchObject({ host })
})

test('parses certificate and key before anything is started', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-options-'))
  const [cert, key, bad] = ['c.pem', 'k.pem', 'bad.pem'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const { certificatePem, privateKeyPem } = createAuthority({ commonName: 'x', days: 1 })
  writeFileSync(cert, certificatePem)
  writeFileSync(key, privateKeyPem)
  writeFileSync(bad, 'no certificate')
  expect(parse(`--host 0.0.0.0 --tls-cert ${cert} --tls-key ${key}`)?.tls?.cert).toBe(
    certificatePem,
  )
  for (const args of [
    `--tls-cert ${bad} --tls-key ${key}`,
    `--tls-cert ${cert} --tls-key ${folder}/none`,
  ])
    expect(() => parse(args)).toThrow(expect.objectContaining({ code: 'bad_certificate' }))
  rmSync(folder, { recursive: true })
})
