/** Where the vault key comes from, through the whole program: a descriptor that is handed on, and a command. */
import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { thumbprint } from '@sallyport/protocol/node'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { apiAt } from '../harness/call-api.ts'
import { killAndProveGone, processesWith } from '../harness/processes.ts'
import { type Sallyport, type StartOptions, startSallyport } from '../harness/start-sallyport.ts'
import { eventually } from '../system/eventually.ts'
import { startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'
import { plant, rotated, sealsInDatabase, unreachable, vaultKeyFile } from './key-world.ts'

let folder: string
let upstream: Upstream
const running: Sallyport[] = []
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-sources-'))
  upstream = await startUpstream()
})
afterEach(async () => {
  for (const one of running.splice(0)) await one.remove()
})
afterAll(async () => {
  await upstream?.close()
  rmSync(folder, { recursive: true, force: true })
})

async function start(options: StartOptions): Promise<Sallyport> {
  const sallyport = await startSallyport(options)
  running.push(sallyport)
  return sallyport
}

interface Key {
  readonly kid: string
  readonly pem: string
}

function makeKey(): Key {
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  const { x } = publicKey.export({ format: 'jwk' }) as { x: string }
  const kid = thumbprint({ kty: 'OKP', crv: 'X25519', x })
  return { kid, pem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }
}

/** A program that stands for a KMS: it prints what its store holds. One for Node, which the worker's limits would stop. */
function keyStore(): { readonly command: string; put(text: string): void } {
  const [program, held] = [join(folder, 'kms'), join(folder, 'held')]
  const script = `process.stdout.write(require('node:fs').readFileSync(process.argv[2]))`
  writeFileSync(program, `#!${process.execPath}\n${script}\n`)
  chmodSync(program, 0o700)
  return {
    command: `${program} ${held}`,
    put: (text) => writeFileSync(held, text, { mode: 0o600 }),
  }
}

const kidOf = async ({ api }: Sallyport) => (await api('vault.show')).kid

test('a key that a program prints opens everything, is written nowhere, and is rotated there', {
  timeout: 120_000,
}, async () => {
  const [old, next] = [makeKey(), makeKey()]
  const store = keyStore()
  store.put(old.pem)
  const sallyport = await start({ args: ['--vault-key-command', store.command] })
  const { api } = sallyport
  expect(await kidOf(sallyport)).toBe(old.kid)
  expect(existsSync(vaultKeyFile(sallyport))).toBe(false)
  const planted = await plant(sallyport, upstream, { count: 4, called: 0 })
  await expect(api('keys.rotate')).rejects.toMatchObject({ code: 'vault_key_fixed' })
  expect(await kidOf(sallyport)).toBe(old.kid)
  store.put(next.pem + old.pem)
  expect(await api('keys.rotate')).toMatchObject({
    source: 'command',
    items: [{ id: next.kid, state: 'sealing' }, { id: old.kid }],
  })
  await rotated(sallyport)
  expect(sealsInDatabase(sallyport)).toEqual({ [next.kid]: 8 })
  expect((await api('keys.show')).items[1]).toMatchObject({ id: old.kid, state: 'retired' })
  store.put(next.pem)
  await sallyport.restart()
  expect(await unreachable(sallyport, upstream, planted)).toEqual([])
})

test('a program that fails is told as the vault key, and the start ends', async () => {
  const store = keyStore()
  store.put('')
  const args = ['--vault-key-command', store.command]
  await expect(startSallyport({ args })).rejects.toThrow(
    /vault_key_unusable: .*who can act: operator/,
  )
})

const { PATH = '' } = process.env
const machineNode = PATH.split(delimiter)
  .filter((path) => !path.includes('node_modules'))
  .map((path) => join(path, 'node'))
  .find((path) => existsSync(path))
const launcher = fileURLToPath(new URL('../../apps/cli/bin/sallyport.js', import.meta.url))

/** Through the launcher, which goes on under the pinned Node where it was started with an older one. */
test.each([
  ['the pinned Node', process.execPath, 3],
  ['the pinned Node, with a higher number', process.execPath, 7],
  ['the Node of the machine', machineNode ?? process.execPath, 3],
  ['the Node of the machine, with a higher number', machineNode ?? process.execPath, 7],
])(
  'a descriptor is handed on to the worker, under %s',
  { timeout: 60_000 },
  async (_what, node, fd) => {
    const key = makeKey()
    const dataDir = mkdtempSync(join(folder, 'data-'))
    const file = join(folder, 'handed.key')
    writeFileSync(file, key.pem, { mode: 0o600 })
    const descriptor = openSync(file, 'r')
    rmSync(file)
    const ports = ['--port', '0', '--guest-port', '0', '--data', dataDir]
    const child = spawn(node, [launcher, 'up', '--json', ...ports, '--vault-key-fd', String(fd)], {
      env: { PATH },
      stdio: ['ignore', 'pipe', 'inherit', ...Array(fd - 3).fill('ignore'), descriptor],
    })
    closeSync(descriptor)
    try {
      const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
      const ready = await new Promise<Record<string, string>>((resolve, reject) => {
        lines.once('line', (line) => resolve(JSON.parse(line)))
        child.once('exit', (code) => reject(new Error(`ended with ${code}`)))
      })
      const token = readFileSync(ready['adminTokenFile'] as string, 'utf8').trim()
      const api = apiAt(
        () => ready['url'] as string,
        () => token,
      )
      expect(await api('keys.show')).toMatchObject({
        source: 'descriptor',
        items: [{ id: key.kid, state: 'sealing' }],
      })
      const { pid } = (await api('status.show')).worker
      expect(readlinkSync(`/proc/${pid}/fd/3`)).toContain('handed.key')
      process.kill(pid as number, 'SIGKILL')
      // The next worker reads it again, from its beginning.
      await eventually(
        () => api('keys.show').catch(() => undefined),
        (keys) => keys?.items[0]?.id === key.kid,
        15_000,
      )
    } finally {
      child.kill('SIGTERM')
      await eventually(
        () => processesWith(dataDir),
        (pids) => pids.length === 0,
        15_000,
      ).catch(async () => {
        for (const pid of processesWith(dataDir)) await killAndProveGone(pid)
      })
    }
  },
)
