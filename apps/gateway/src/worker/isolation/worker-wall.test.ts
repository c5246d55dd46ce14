/** Each wall by itself: a program is started as a worker would be, with one of them and not the others. */
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { SallyportError } from '@sallyport/protocol'
import { readProcessWalls } from '@sallyport/protocol/node'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../clock.ts'
import { helloOf, SteppedClock } from '../scripted-worker.ts'
import type { IsolationMode } from './isolation-mode.ts'
import type { Launch } from './launch.ts'
import { filterWords, sendFilter, tryProgram } from './try-program.ts'
import type { WorkerNeeds } from './worker-needs.ts'
import { WorkerWall } from './worker-wall.ts'

const run = promisify(execFile)
const isRoot = process.getuid?.() === 0

let root: string
let data: string
const walls: WorkerWall[] = []
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-wall-')))
  data = join(root, 'data')
  for (const folder of ['program', 'data', 'data/worker', 'data/gateway', 'keys', 'other'])
    mkdirSync(join(root, folder), { mode: 0o700 })
  writeFileSync(join(data, 'gateway', 'gateway.pem'), 'key', { mode: 0o600 })
  writeFileSync(join(data, 'sallyport.db'), 'rows')
  writeFileSync(join(root, 'program', 'main.mjs'), program)
})
afterEach(() => {
  vi.unstubAllEnvs()
  for (const wall of walls.splice(0)) wall.stop()
  rmSync(root, { recursive: true })
})

/** Evaluates each expression that it is given, as the user that it is to be. Their values, or codes of their errors. */
const program = `import * as fs from 'node:fs'
import * as net from 'node:net'
import * as os from 'node:os'
const words = process.argv.slice(2)
const at = words.indexOf('--run-as')
if (at >= 0) {
  const [uid, gid] = words.splice(at, 2)[1].split(':').map(Number)
  process.setgroups([])
  process.setgid(gid)
  process.setuid(uid)
}
const connect = (port) => new Promise((resolve) => {
  const socket = net.connect(port, '127.0.0.1', () => resolve('connected')).on('error', (e) => resolve(e.code))
  socket.on('connect', () => socket.destroy())
})
const child = await import('node:child_process')
const found = []
for (const word of words)
  try {
    found.push(await eval(word))
  } catch (thrown) {
    found.push(thrown.code ?? String(thrown))
  }
console.log(JSON.stringify(found.map((one) => one ?? null)))
`

function wallOf(needs: Partial<WorkerNeeds> = {}, mode: IsolationMode = 'auto'): WorkerWall {
  const folder = join(data, 'worker')
  const wall = new WorkerWall({
    mode,
    needs: {
      entry: join(root, 'program', 'main.mjs'),
      dataDir: data,
      folder,
      socketFolder: folder,
      vaultKey: { file: join(folder, 'vault.key') },
      readable: [],
      hidden: [],
      ...needs,
    },
    namesFolder: join(data, 'gateway', 'names'),
    clock: new SteppedClock(0),
  })
  walls.push(wall)
  return wall
}

type Part = 'around' | 'nodeFlags'

/** As the worker is started, with one of the two walls only. */
async function found(
  { around, nodeFlags, moreFlags }: Launch,
  part: Part | undefined,
  expressions: readonly string[],
): Promise<unknown[]> {
  const flags = part === 'nodeFlags' ? nodeFlags : []
  const node = [process.execPath, ...flags, join(root, 'program', 'main.mjs'), ...expressions]
  const words =
    part === 'around' && around !== undefined
      ? [
          ...[around.program, ...around.words, ...filterWords(around.filter, 3)],
          ...['--', ...node, ...moreFlags],
        ]
      : node
  return JSON.parse(await outputOf(words, part === 'around' ? around?.filter : undefined))
}

async function outputOf(words: readonly string[], filter: Uint8Array | undefined): Promise<string> {
  const [first = '', ...rest] = words
  const child = spawn(first, rest, { env: {}, stdio: ['ignore', 'pipe', 'inherit', 'pipe'] })
  sendFilter(child.stdio[3], filter)
  let said = ''
  child.stdout?.on('data', (data: Buffer) => {
    said += data.toString()
  })
  await once(child, 'close')
  return said
}

/** The same walls without the filter. */
const unfiltered = (launch: Launch): Launch => ({
  ...launch,
  around: launch.around && { ...launch.around, filter: undefined },
})

const path = (...parts: string[]) => JSON.stringify(join(root, ...parts))
const read = (...parts: string[]) => `fs.readFileSync(${path(...parts)}, 'utf8')`
const write = (...parts: string[]) => `fs.writeFileSync(${path(...parts)}, 'x')`

const lacking = lackOf()
function lackOf(): string | undefined {
  try {
    const user = isRoot ? [] : ['--unshare-user', '--disable-userns']
    execFileSync('bwrap', ['--unshare-pid', ...user, '--ro-bind', '/', '/', 'true'], {
      stdio: 'pipe',
    })
    return undefined
  } catch (thrown) {
    return String(thrown)
  }
}

if (lacking !== undefined)
  test.skipIf(!process.env['SALLYPORT_REQUIRE_SANDBOX'])(
    `bubblewrap: not run here. ${lacking}`,
    () => {
      throw new Error(lacking)
    },
  )

const isDenied = expect.stringMatching(/^(?:EROFS|EACCES|ENOENT|EPERM)$/)

describe.skipIf(lacking !== undefined)('bubblewrap alone', () => {
  test('of the machine only libraries, Node and the program are there', async () => {
    const [top, etc, ...rest] = await found(wallOf().prepare(), 'around', [
      `fs.readdirSync('/')`,
      `fs.readdirSync('/etc').sort()`,
      `fs.existsSync('/usr/bin')`,
      `fs.existsSync('/bin/sh')`,
    ])
    for (const name of ['root', 'home', 'var', 'boot', 'srv', 'opt', 'sys', 'sbin'])
      expect(top).not.toContain(name)
    expect(etc).toEqual(['hosts', 'ld.so.cache', 'resolv.conf'])
    expect(rest).toEqual([false, false])
  })

  test('the data folder has nothing in it but what is its own; without the wall all is there', async () => {
    const expressions = [
      `fs.readdirSync(${path('data')})`,
      read('data', 'gateway', 'gateway.pem'),
      read('data', 'sallyport.db'),
    ]
    const launch = wallOf().prepare()
    expect(await found(launch, 'around', expressions)).toEqual([['worker'], 'ENOENT', 'ENOENT'])
    const control = [['gateway', 'sallyport.db', 'worker'], 'key', 'rows']
    expect(await found(launch, undefined, expressions)).toEqual(control)
  })

  test('nothing can be written but its own folder and a /tmp of its own', async () => {
    const places = [write('data', 'made'), write('program', 'made')]
    const top = `fs.writeFileSync('/made', '')`
    const own = [write('data', 'worker', 'made'), read('data', 'worker', 'made')]
    const launch = wallOf().prepare()
    const tmp = `fs.writeFileSync('/tmp/${root.split('/').at(-1)}-own', '')`
    expect(await found(launch, 'around', [...places, top, ...own, tmp])).toEqual([
      ...[isDenied, isDenied, isDenied],
      ...[null, 'x'],
      null,
    ])
    expect(() => readFileSync(`${root}-own`)).toThrow('ENOENT')
    expect(await found(launch, undefined, places)).toEqual([null, null])
  })

  test('there are no processes but its own, and the network is that of the machine', async () => {
    const server = createServer((socket) => socket.destroy())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.address() as { port: number }
      const expressions = [
        `fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name))`,
        `process.kill(${process.pid}, 0)`,
        `connect(${port})`,
      ]
      const launch = wallOf().prepare()
      const inside = [['1'], 'ESRCH', 'connected']
      expect(await found(launch, 'around', expressions)).toEqual(inside)
      expect((await found(launch, undefined, expressions)).slice(1)).toEqual([true, 'connected'])
    } finally {
      await new Promise((resolve) => server.close(resolve))
    }
  })

  test('it is nobody of this machine, without capabilities, and gains none', async () => {
    const expressions = [
      `process.getuid()`,
      `fs.readFileSync('/proc/self/status', 'utf8').match(/^CapEff:\\s*0+$/m) !== null`,
      `fs.readFileSync('/proc/self/status', 'utf8').match(/^NoNewPrivs:\\s*1$/m) !== null`,
      `Object.keys(process.env)`,
    ]
    const launch = wallOf().prepare()
    const [uid, ...rest] = await found(launch, 'around', expressions)
    expect(rest).toEqual([true, true, ['PWD']])
    if (isRoot) expect(uid).toBeGreaterThanOrEqual(61_184)
    else expect(uid).toBe(process.getuid?.())
  })

  test('the kernel starts nothing for it and gives it no other sockets; without the filter it does', async () => {
    const expressions = [
      `child.spawnSync(process.execPath, ['--version']).error?.code`,
      `Object.keys(os.networkInterfaces()).length > 0`,
    ]
    const launch = wallOf().prepare()
    expect(await found(launch, 'around', expressions)).toEqual(['EPERM', 'ERR_SYSTEM_ERROR'])
    expect(await found(unfiltered(launch), 'around', expressions)).toEqual([null, true])
  })

  test('what Node does with the kernel goes on behind the filter: threads, compiled code, sockets, names', async () => {
    const server = createServer((socket) => socket.destroy())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.address() as { port: number }
      const thread = `new (await import('node:worker_threads')).Worker('require("node:worker_threads").parentPort.postMessage(7)', { eval: true })`
      const wasm = `new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])`
      const socket = path('data', 'worker', 'w.sock')
      const expressions = [
        `(async () => new Promise(async (resolve) => (${thread}).once('message', resolve)))()`,
        `(async () => (await WebAssembly.compile(${wasm})) instanceof WebAssembly.Module)()`,
        `(async () => (await import('node:util')).promisify((await import('node:crypto')).pbkdf2)('p', 's', 1000, 8, 'sha256'))().then((key) => key.length)`,
        `connect(${port})`,
        `new Promise((resolve) => { const s = net.createServer().listen(${socket}, () => s.close(() => resolve('listened'))) })`,
        `(async () => (await import('node:dns/promises')).lookup('localhost'))().then(({ address }) => address.length > 2)`,
        `fs.promises.copyFile(process.execPath, ${path('data', 'worker', 'copy')})`,
        `new Function('let n = 0; for (let i = 0; i < 2e7; i++) n += i; return n')()`,
      ]
      expect(await found(wallOf().prepare(), 'around', expressions)).toEqual([
        ...[7, true, 8, 'connected', 'listened', true, null],
        199_999_990_000_000,
      ])
    } finally {
      await new Promise((resolve) => server.close(resolve))
    }
  })

  test('names are found by what the system says', async () => {
    const wall = wallOf()
    const launch = wall.prepare()
    const expressions = [`fs.readFileSync('/etc/hosts', 'utf8')`]
    const now = readFileSync('/etc/hosts', 'utf8')
    expect(await found(launch, 'around', expressions)).toEqual([now])
  })

  test('a vault key in a folder of its own is written there; among other files only it is seen', async () => {
    const file = join(root, 'keys', 'vault.key')
    const needs = { vaultKey: { file } }
    const expressions = [write('keys', 'vault.key'), write('keys', 'vault.key.2')]
    expect(await found(wallOf(needs).prepare(), 'around', expressions)).toEqual([null, null])

    writeFileSync(join(root, 'keys', 'data.key'), 'of the gateway')
    const [wrote, sibling, more] = await found(wallOf(needs).prepare(), 'around', [
      write('keys', 'vault.key'),
      read('keys', 'data.key'),
      write('keys', 'vault.key.3'),
    ])
    expect([wrote, sibling, more]).toEqual([null, 'ENOENT', isDenied])
  })

  test('where the key folder is above the data folder, that is hidden all the same', async () => {
    rmSync(join(root, 'keys'), { recursive: true })
    for (const name of ['program', 'other']) rmSync(join(root, name), { recursive: true })
    mkdirSync(join(root, 'data', 'worker', 'program'))
    const entry = join(data, 'worker', 'program', 'main.mjs')
    writeFileSync(entry, program)
    const launch = wallOf({ entry, vaultKey: { file: join(root, 'vault.key') } }).prepare()
    const around = launch.around as NonNullable<Launch['around']>
    const { stdout } = await run(
      around.program,
      [
        ...around.words,
        ...['--', process.execPath, entry, `fs.readdirSync(${path('data')})`],
        ...launch.moreFlags,
      ],
      { env: {} },
    )
    expect(JSON.parse(stdout)).toEqual([['worker']])
  })

  test('a vault key and authorities in the data folder are seen, and nothing else of it', async () => {
    mkdirSync(join(data, 'keys'))
    for (const name of ['vault.key', 'keys/vault.key', 'ca.pem'])
      writeFileSync(join(data, name), name)
    const readable = [join(data, 'ca.pem')]
    const names = (needs: Partial<WorkerNeeds>) =>
      found(wallOf({ readable, ...needs }).prepare(), 'around', [
        `fs.readdirSync(${path('data')}).sort()`,
        read('data', 'ca.pem'),
        write('data', 'vault.key.2'),
      ])
    expect(await names({ vaultKey: { file: join(data, 'vault.key') } })).toEqual([
      ['ca.pem', 'vault.key', 'worker'],
      'ca.pem',
      isDenied,
    ])
    expect(await names({ vaultKey: { file: join(data, 'keys', 'vault.key') } })).toEqual([
      ['ca.pem', 'keys', 'worker'],
      'ca.pem',
      isDenied,
    ])
  })

  test('for a program that gives the key the machine is there to be read, and still not the data folder', async () => {
    const hidden = join(root, 'other', 'data.key')
    writeFileSync(hidden, 'of the gateway')
    const launch = wallOf({ vaultKey: { command: '/bin/true' }, hidden: [hidden] }).prepare()
    const expressions = [
      `child.spawnSync('/bin/sh', ['-c', 'exit 7']).status`,
      `fs.readdirSync(${path('data')})`,
      read('other', 'data.key'),
      write('other', 'made'),
      write('data', 'worker', 'made'),
    ]
    expect(await found(launch, 'around', expressions)).toEqual([
      7,
      ['worker'],
      isDenied,
      isDenied,
      null,
    ])
    expect(launch.nodeFlags).toContain('--allow-child-process')
    expect(wallOf().prepare().nodeFlags).not.toContain('--allow-child-process')
  })
})

describe('the limits of Node alone', () => {
  test('what is not its own is neither read, written, started nor threaded', async () => {
    const own = [write('data', 'worker', 'made'), read('data', 'worker', 'made')]
    const expressions = [
      read('data', 'gateway', 'gateway.pem'),
      read('data', 'sallyport.db'),
      write('data', 'made'),
      write('program', 'made'),
      `fs.readFileSync('/etc/passwd')`,
      `fs.readFileSync('/proc/self/root/etc/passwd')`,
      `child.spawnSync('/bin/true').error`,
      `import('node:worker_threads').then(({ Worker }) => new Worker('', { eval: true }))`,
      `process.dlopen({ exports: {} }, '/nothing.node')`,
    ]
    const launch = wallOf().prepare()
    const denied = expressions.map(() => 'ERR_ACCESS_DENIED')
    const all = await found(launch, 'nodeFlags', [...expressions, ...own])
    expect(all.map((one, index) => (index === 8 ? String(one) : one))).toEqual([
      ...denied.slice(0, 8),
      expect.stringMatching(/^ERR_(?:ACCESS_DENIED|DLOPEN_DISABLED)$/),
      null,
      'x',
    ])
    const control = await found(launch, undefined, expressions.slice(0, 4))
    expect(control).toEqual(['key', 'rows', null, null])
  })
})

/** A bubblewrap that makes none: found first, as the one of a machine that does not let it. */
function brokenBubblewrap(): void {
  const file = join(root, 'other', 'bwrap')
  writeFileSync(
    file,
    '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n',
  )
  chmodSync(file, 0o755)
  vi.stubEnv('PATH', [join(root, 'other'), process.env['PATH']].join(delimiter))
}

const refused = expect.objectContaining({ code: 'worker_not_isolated' })

describe('where bubblewrap makes nothing', () => {
  test('the next launch goes without, and it is told why', async () => {
    brokenBubblewrap()
    const wall = wallOf()
    const launch = wall.prepare()
    expect(await wall.isToBlame(launch)).toBe(true)
    expect(wall.because).toEqual([
      'bubblewrap makes no sandbox here: bwrap: No permissions to create new namespace.',
    ])
    const next = wall.prepare()
    expect(next).toMatchObject({ around: undefined, moreFlags: [] })
    expect(next.nodeFlags).toContain('--permission')
    expect(await wall.isToBlame(next)).toBe(false)
  })

  test('nothing goes without where it is required', async () => {
    brokenBubblewrap()
    const wall = wallOf({}, 'require')
    await expect(wall.isToBlame(wall.prepare())).rejects.toEqual(refused)
  })

  test.skipIf(lacking !== undefined)('a wall that can be made is not to blame', async () => {
    const wall = wallOf()
    expect(await wall.isToBlame(wall.prepare())).toBe(false)
    expect(wall.because).toEqual([])
  })

  test.skipIf(lacking !== undefined)('nor is it for a program that begins nowhere', async () => {
    writeFileSync(join(root, 'program', 'main.mjs'), 'throw new Error()')
    const wall = wallOf()
    expect(await wall.isToBlame(wall.prepare())).toBe(false)
  })

  test.skipIf(lacking !== undefined)('it is for one that misses something behind it', async () => {
    writeFileSync(join(root, 'other', 'more.mjs'), 'console.log(1)')
    writeFileSync(join(root, 'program', 'main.mjs'), `await import('../other/more.mjs')`)
    // Without limits of Node, which would miss it too.
    const wall = wallOf({ readable: [] })
    const launch = { ...wall.prepare(), nodeFlags: [] }
    expect(await wall.isToBlame(launch)).toBe(true)
    expect(wall.because).toEqual([
      expect.stringMatching(/^The worker does not start in a sandbox here: Error .*more\.mjs/),
    ])
  })
})

/** Where its packages are linked from: what it imports is found all the same. */
describe('a program of linked packages', () => {
  const layouts = {
    'a linked folder of packages': ['node_modules', 'there/node_modules'],
    'linked packages': ['node_modules/one', 'there/node_modules/one'],
  }
  for (const [name, [from = '', to = '']] of Object.entries(layouts))
    for (const part of ['around', 'nodeFlags'] as const)
      test.skipIf(part === 'around' && lacking !== undefined)(`${name}: ${part}`, async () => {
        const place = (...parts: string[]) => join(root, ...parts)
        mkdirSync(place('program/apps/worker/src'), { recursive: true })
        for (const name of ['one', 'two'])
          mkdirSync(place('there/node_modules', name), { recursive: true })
        const manifest = (path: string, needs: object) =>
          writeFileSync(
            place(path, 'package.json'),
            JSON.stringify({ main: 'i.mjs', dependencies: needs }),
          )
        manifest('program/apps/worker', { one: '*' })
        manifest('there/node_modules/one', { two: '*' })
        manifest('there/node_modules/two', {})
        writeFileSync(place('there/node_modules/one/i.mjs'), `export * from 'two'`)
        writeFileSync(place('there/node_modules/two/i.mjs'), `export const word = 'found'`)
        mkdirSync(dirname(place('program', from)), { recursive: true })
        symlinkSync(place(to), place('program', from))
        const entry = place('program/apps/worker/src/main.mjs')
        writeFileSync(entry, `import { word } from 'one'\nconsole.log(word)`)
        const launch = wallOf({ entry }).prepare()
        const only =
          part === 'around' ? { ...launch, nodeFlags: [] } : { ...launch, around: undefined }
        expect(await tryProgram(only, entry, systemClock)).toBeUndefined()
      })
})

describe('what is required', () => {
  const here = readProcessWalls()
  const whole = {
    ...here,
    namespaces: { ipc: 'a', mnt: 'a', pid: 'a', uts: 'a' },
    root: { place: 'another', isReadOnly: true },
    uid: 61_999,
    hasCapabilities: false,
    noNewPrivileges: true,
    seccomp: true,
    nodePermission: true,
    variables: 0,
  }

  test('is judged by what the worker finds: one layer less, or no word of it, is refused', () => {
    const wall = wallOf({}, 'require')
    expect(() => wall.accept(helloOf({ walls: whole }))).not.toThrow()
    const lessOf = { nodePermission: false, seccomp: false, noNewPrivileges: false, variables: 1 }
    for (const [name, value] of Object.entries(lessOf)) {
      const less = { ...whole, [name]: value }
      expect(() => wall.accept(helloOf({ walls: less })), name).toThrow(refused)
      expect(() => wallOf().accept(helloOf({ walls: less })), name).not.toThrow()
    }
    expect(() => wall.accept(helloOf({}))).toThrow(SallyportError)
  })

  test('is nothing with "none": the program is started as it is', () => {
    const launch = wallOf({}, 'none').prepare()
    expect(launch).toEqual({ around: undefined, nodeFlags: [], moreFlags: [] })
  })
})
