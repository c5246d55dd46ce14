import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FileSource } from './file-source.ts'
import { makeKey, retiredText, writeKeyText } from './key-text.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-vault-'))
  file = join(folder, 'vault.key')
})
afterEach(() => {
  chmodSync(folder, 0o700)
  rmSync(folder, { recursive: true })
})

const source = () => new FileSource(file, () => 1_000)
const refused = (code: string) => expect.objectContaining({ code })
const kidsOf = async () => (await source().read()).keys.map(({ kid }) => kid)
const names = () => readdirSync(folder).sort()

test.each([
  ['that is not there', undefined],
  ['that is empty', ''],
])('a file %s gets a key, for its owner only, which is read the next time', async (_what, text) => {
  if (text !== undefined) writeFileSync(file, text, { mode: 0o600 })
  const [made, ...others] = (await source().read()).keys
  expect(others).toEqual([])
  expect(made).toMatchObject({ madeAt: 1_000, jwk: { kty: 'OKP', crv: 'X25519' } })
  expect(await kidsOf()).toEqual([made?.kid])
  expect(readFileSync(file, 'utf8')).toMatch(/^# made .*\n-----BEGIN PRIVATE KEY-----\n/)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(names()).toEqual(['vault.key'])
})

test('what is no key is refused, and not written over', async () => {
  writeFileSync(file, 'hello')
  await expect(source().read()).rejects.toThrow(refused('vault_key_unusable'))
  expect(readFileSync(file, 'utf8')).toBe('hello')
})

test('a folder that is not there is refused', async () => {
  const nowhere = new FileSource(join(folder, 'no', 'vault.key'), () => 0)
  await expect(nowhere.read()).rejects.toThrow(refused('vault_key_unusable'))
})

test('of two that begin together on an empty file, both go on with the key that came first', async () => {
  const [one, other] = [makeKey(1), makeKey(2)]
  writeFileSync(file, writeKeyText(one) + writeKeyText(other))
  expect((await source().read()).keys[0]?.kid).toBe(one.kid)
})

test('a new key stands beside the old one, in a file of its own', async () => {
  const [old] = await kidsOf()
  const before = readFileSync(file, 'utf8')
  const { kid } = await source().create()
  expect(await kidsOf()).toEqual([kid, old])
  expect(names()).toEqual(['vault.key', 'vault.key.2'])
  expect(readFileSync(file, 'utf8')).toBe(before)
  expect(statSync(`${file}.2`).mode & 0o777).toBe(0o600)
})

test('new keys that several make at once are all there', async () => {
  const [first] = await kidsOf()
  const made = await Promise.all(Array.from({ length: 8 }, () => source().create()))
  const kids = await kidsOf()
  expect(new Set(kids)).toEqual(new Set([first, ...made.map(({ kid }) => kid)]))
  expect(kids.at(-1)).toBe(first)
})

test('names that only look alike are no keys of ours', async () => {
  const [kid] = await kidsOf()
  for (const name of ['vault.key.bak', 'vault.key.02', 'vault.key.1', 'vault.key2', 'other.key'])
    writeFileSync(join(folder, name), writeKeyText(makeKey(1)))
  expect(await kidsOf()).toEqual([kid])
})

test('what is taken away is gone from the disk, its name stays, and the newer one takes its place', async () => {
  const [old = ''] = await kidsOf()
  const text = readFileSync(file, 'utf8').split('\n')[2] as string
  const { kid } = await source().create()
  await source().remove(old)
  expect(await source().read()).toMatchObject({ keys: [{ kid }], retired: [old] })
  expect(names()).toEqual(['vault.key', 'vault.key.retired'])
  for (const name of names()) expect(readFileSync(join(folder, name), 'utf8')).not.toContain(text)
  expect(readFileSync(`${file}.retired`, 'utf8')).toBe(retiredText(old, 1_000))
  const next = await source().create()
  expect(await kidsOf()).toEqual([next.kid, kid])
})

test('keys are taken away in any order, and again', async () => {
  const [first = ''] = await kidsOf()
  const second = await source().create()
  const third = await source().create()
  await source().remove(second.kid)
  expect(names()).toEqual(['vault.key', 'vault.key.3', 'vault.key.retired'])
  await source().remove(first)
  await source().remove(first)
  await source().remove('nobody')
  expect(await kidsOf()).toEqual([third.kid])
  expect((await source().read()).retired).toEqual([second.kid, first, 'nobody'])
})

test('of a file with several keys, only the one is taken', async () => {
  const [one, other] = [makeKey(2), makeKey(1)]
  writeFileSync(file, writeKeyText(one) + writeKeyText(other), { mode: 0o600 })
  await source().remove(other.kid)
  expect(await kidsOf()).toEqual([one.kid])
  expect(readFileSync(file, 'utf8')).toBe(writeKeyText(one))
})

test('the only key is never taken', async () => {
  const [kid = ''] = await kidsOf()
  await expect(source().remove(kid)).rejects.toThrow(TypeError)
  expect(existsSync(file)).toBe(true)
})

test('a removal that a crash cut short is finished at the next start', async () => {
  const [old = ''] = await kidsOf()
  const { kid } = await source().create()
  writeFileSync(`${file}.retired`, retiredText(old, 0))
  expect(await kidsOf()).toEqual([kid])
  expect(names()).toEqual(['vault.key', 'vault.key.retired'])
  expect(await kidsOf()).toEqual([kid])
})

/** Root may write everywhere, but not where nothing can be written. */
const readOnly = (): string | undefined =>
  ['/proc', '/sys'].find((path) => existsSync(path) && statSync(path).isDirectory())

test('where nothing can be written, no key is made or taken', async () => {
  if (process.getuid?.() === 0) {
    const nowhere = new FileSource(join(readOnly() ?? '/proc', 'vault.key'), () => 0)
    await expect(nowhere.create()).rejects.toThrow(refused('vault_key_fixed'))
    await expect(nowhere.remove('k')).rejects.toThrow(refused('vault_key_fixed'))
    await expect(nowhere.read()).rejects.toThrow(refused('vault_key_unusable'))
    return
  }
  const [kid] = await kidsOf()
  chmodSync(folder, 0o500)
  await expect(source().create()).rejects.toThrow(refused('vault_key_fixed'))
  await expect(source().remove('k')).rejects.toThrow(refused('vault_key_fixed'))
  expect(await kidsOf()).toEqual([kid])
})

test('of eight that find no key at once, one makes it', async () => {
  const found = await Promise.all(Array.from({ length: 8 }, () => kidsOf()))
  expect(new Set(found.flat()).size).toBe(1)
  expect(names()).toEqual(['vault.key'])
})

/** What processes find that begin in the same moment on the one file, and then on the other: each its kids, newest first. */
function beginTogether(count: number, files: readonly string[]): string[][] {
  const program = `
    const { FileSource } = await import(${JSON.stringify(join(import.meta.dirname, 'file-source.ts'))})
    let at = Number(process.argv[1])
    const found = []
    for (const file of ${JSON.stringify(files)}) {
      while (Date.now() < at);
      const { keys } = await new FileSource(file, Date.now).read()
      found.push(keys.map(({ kid }) => kid).join(' '))
      at += 500
    }
    console.log(JSON.stringify(found))`
  const each = Array.from({ length: count }, (_, index) => index).join(' ')
  const script = `for i in ${each}; do "$0" --input-type=module -e "$1" "$2" & done; wait`
  const at = String(Date.now() + 2_000)
  const said = execFileSync('sh', ['-c', script, process.execPath, program, at]).toString()
  return said
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

test('ten programs that begin in the same moment on a file that is not there, or empty, make one key', {
  timeout: 60_000,
}, () => {
  const empty = `${file}-empty`
  writeFileSync(empty, '', { mode: 0o600 })
  const found = beginTogether(10, [file, empty])
  expect(found).toHaveLength(10)
  for (const [at, path] of [file, empty].entries()) {
    expect(new Set(found.map((each) => each[at])).size).toBe(1)
    expect(found[0]?.[at]).not.toContain(' ')
    expect(readFileSync(path, 'utf8').match(/BEGIN PRIVATE KEY/g)).toHaveLength(1)
  }
  expect(names()).toEqual(['vault.key', 'vault.key-empty'])
})

test('the lock of a worker that crashed is taken for left after three seconds', async () => {
  writeFileSync(`${file}.lock`, '')
  expect(await kidsOf()).toHaveLength(1)
  expect(names()).toEqual(['vault.key'])
})

test('whoever waits for the lock goes on with the key of the one who has it', async () => {
  writeFileSync(`${file}.lock`, '')
  const waiting = kidsOf()
  const key = makeKey(1)
  writeFileSync(file, writeKeyText(key))
  expect(await waiting).toEqual([key.kid])
  expect(readFileSync(file, 'utf8')).toBe(writeKeyText(key))
  // Whose it is takes it away.
  expect(names()).toEqual(['vault.key', 'vault.key.lock'])
})

test('a lock that cannot be taken away keeps nobody from making the key', async () => {
  writeFileSync(file, '', { mode: 0o600 })
  mkdirSync(`${file}.lock`)
  const [kid] = await kidsOf()
  expect(await kidsOf()).toEqual([kid])
})
