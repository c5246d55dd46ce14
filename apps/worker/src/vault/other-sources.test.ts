import {
  chmodSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CommandSource } from './command-source.ts'
import { DescriptorSource } from './descriptor-source.ts'
import { makeKey, retiredText, writeKeyText } from './key-text.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-vault-'))
  file = join(folder, 'k')
})
afterEach(() => rmSync(folder, { recursive: true }))

const refused = (code: string) => expect.objectContaining({ code })
const key = makeKey(1)
const text = writeKeyText(key)
const because = async (work: Promise<unknown>): Promise<string> => {
  const thrown = await work.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(thrown).toEqual(refused('vault_key_unusable'))
  return String((thrown as Error).cause)
}

function program(body: string): string {
  const path = join(folder, 'program')
  writeFileSync(path, `#!/bin/sh\n${body}\n`)
  chmodSync(path, 0o700)
  return path
}

test('a descriptor of a file is read from its start, however often, and what is new there is found', async () => {
  writeFileSync(file, text)
  const descriptor = openSync(file, 'r')
  try {
    const next = makeKey(2)
    const source = new DescriptorSource(descriptor)
    expect((await source.read()).keys.map(({ kid }) => kid)).toEqual([key.kid])
    writeFileSync(file, writeKeyText(next) + text + retiredText('k0', 0))
    expect(await source.read()).toMatchObject({
      keys: [{ kid: next.kid }, { kid: key.kid }],
      retired: ['k0'],
    })
    expect((await new DescriptorSource(descriptor).read()).keys).toHaveLength(2)
  } finally {
    closeSync(descriptor)
  }
})

test('a descriptor is never written, and an empty one gets no key', async () => {
  writeFileSync(file, '')
  const descriptor = openSync(file, 'r+')
  const source = new DescriptorSource(descriptor)
  expect(await because(source.read())).toContain('no key in descriptor')
  await expect(source.create()).rejects.toThrow(refused('vault_key_fixed'))
  await expect(source.remove()).rejects.toThrow(refused('vault_key_fixed'))
  closeSync(descriptor)
  expect(await because(source.read())).toContain('EBADF')
})

test('what a program prints is the key, with retired names', async () => {
  const printed = join(folder, 'printed')
  writeFileSync(printed, text + retiredText('k0', 0))
  const source = new CommandSource([program('exec cat "$1"'), printed])
  expect(await source.read()).toMatchObject({ keys: [{ kid: key.kid }], retired: ['k0'] })
  await expect(source.create()).rejects.toThrow(refused('vault_key_fixed'))
  await expect(source.remove()).rejects.toThrow(refused('vault_key_fixed'))
})

test('a program is run without a shell, and gets no environment of ours', async () => {
  process.env['SENTINEL'] = 'x'
  try {
    const path = program('[ "$1" = "a;b \\$(c)" ] && [ -z "$SENTINEL" ] && exec cat "$2"')
    writeFileSync(file, text)
    expect((await new CommandSource([path, 'a;b $(c)', file]).read()).keys).toHaveLength(1)
  } finally {
    delete process.env['SENTINEL']
  }
})

test.each([
  ['ends with another code', 'echo SENTINEL >&2; exit 3', 'ended with 3'],
  ['is ended', 'kill -9 $$', 'ended with SIGKILL'],
  ['prints no key', 'exit 0', 'prints no key'],
  ['prints words', 'echo SENTINEL', 'no private key'],
  ['prints without end', 'while :; do echo SENTINEL-SENTINEL-SENTINEL-SENTINEL; done', 'too much'],
])('a program that %s gives no key, and is not repeated', async (_what, body, words) => {
  const told = await because(new CommandSource([program(body)]).read())
  expect(told).toContain(words)
  expect(told).not.toContain('SENTINEL')
})

test('a program that is not there gives no key', async () => {
  expect(await because(new CommandSource([join(folder, 'none')]).read())).toContain('ENOENT')
})

test('a program that does not end is ended', async () => {
  const path = program('exec sleep 100')
  expect(await because(new CommandSource([path], 100).read())).toContain('SIGKILL')
})

test('what a program started that does not end goes with it', async () => {
  const path = program('sleep 100 & echo $! >"$1"; wait')
  expect(await because(new CommandSource([path, file], 300).read())).toContain('SIGKILL')
  const started = Number(readFileSync(file, 'utf8'))
  const isThere = (): boolean => existsSync(`/proc/${started}/cwd`)
  for (let look = 0; look < 100 && isThere(); look++)
    await new Promise((resolve) => setTimeout(resolve, 10))
  expect(isThere()).toBe(false)
})
