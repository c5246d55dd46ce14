import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { ScriptedApi } from './testing/scripted-api.ts'

const launcher = join(import.meta.dirname, '..', 'bin', 'sallyport.js')

/** The machine's own Node, not the pinned one that npm puts first; undefined when there is none. */
const { PATH = '' } = process.env
const machineNode = PATH.split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .map((folder) => join(folder, 'node'))
  .find((path) => existsSync(path))
const nodes = [
  ['the pinned Node', process.execPath],
  ['the Node of the machine', machineNode],
] as const

let api: ScriptedApi
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-launcher-'))
})
afterAll(() => rmSync(folder, { recursive: true }))
beforeEach(async () => {
  api = await new ScriptedApi().listen()
})
afterEach(() => api.close())

interface Ended {
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
}

function start(node: string, words: readonly string[], script = launcher): ChildProcess {
  return spawn(node, [script, ...words], {
    cwd: folder,
    env: {
      HOME: folder,
      XDG_CACHE_HOME: join(folder, 'cache'),
      SALLYPORT_URL: api.url,
      SALLYPORT_TOKEN: 'sentinel-token',
    },
  })
}

async function end(child: ChildProcess): Promise<Ended> {
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  const [code, signal] = await once(child, 'close')
  return { code, signal, stdout, stderr }
}

/** Resolves once the condition holds; throws after ten seconds. */
async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1000; turn++) {
    if (condition()) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('waited too long')
}

/** Resolves once the command waits for an answer. */
const asked = (): Promise<void> => until(() => api.requests.length > 0)

function childrenOf(pid: number | undefined): string[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return text === '' ? [] : text.split(' ')
}

for (const [name, node = ''] of nodes) {
  test.skipIf(!node)(`under ${name} commands run and exit codes pass`, async () => {
    expect(await end(start(node, ['user', 'list', '--json']))).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/^\{"items":\[\{"id":"usr_/),
    })
    api.refuse('user.list', 'name_taken')
    expect(await end(start(node, ['user', 'list']))).toMatchObject({
      code: 6,
      stdout: '',
      stderr: expect.stringMatching(/^name_taken: [^\n]*\n$/),
    })
    expect(await end(start(node, ['nonsense']))).toMatchObject({ code: 2 })
  })

  test.skipIf(!node)(`under ${name} a signal ends the command`, async () => {
    api.hangs = true
    const child = start(node, ['user', 'list'])
    const ended = end(child)
    await asked()
    child.kill('SIGTERM')
    expect(await ended).toMatchObject({ code: null, signal: 'SIGTERM', stdout: '' })
  })
}

test('a command that has an error to tell, and nobody who reads it, ends as with one who does', async () => {
  const told = async (isRead: boolean): Promise<Ended> => {
    const child = start(process.execPath, ['connection', 'add', 'docs', '-'])
    const ended = end(child)
    if (!isRead) child.stderr?.destroy()
    await until(() => isRead || child.stderr?.closed === true)
    // It has nothing to say before this.
    child.stdin?.end('https://mcp.example.com/')
    return ended
  }
  api.refuse('connection.create', 'name_taken')
  const read = await told(true)
  expect(read).toMatchObject({ code: 6, stderr: expect.stringMatching(/^name_taken: /) })
  expect(await told(false)).toEqual({ ...read, stderr: '' })
})

test.skipIf(!machineNode || process.platform !== 'linux')(
  'the command ends with its launcher, also after kill -9',
  async () => {
    api.hangs = true
    const child = start(machineNode ?? '', ['user', 'list'])
    await asked()
    // None where the Node of the machine is new enough: there the launcher is the command.
    const below = childrenOf(child.pid)
    child.kill('SIGKILL')
    await once(child, 'close')
    for (const pid of below) await until(() => !existsSync(`/proc/${pid}`))
  },
)

test.skipIf(process.platform !== 'linux')('secrets are in no argv and no output', async () => {
  writeFileSync(join(folder, 'bearer'), 'sentinel-bearer')
  api.hangs = true
  const words = ['connection', 'add', 'docs', '-', '--bearer-file', 'bearer']
  const child = start(machineNode ?? process.execPath, words)
  const ended = end(child)
  child.stdin?.end('https://mcp.example.com/?key=sentinel-url')
  await asked()
  for (const pid of [child.pid, ...childrenOf(child.pid)]) {
    const argv = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    expect(argv).toContain('connection')
    expect(argv).not.toContain('sentinel')
  }
  child.kill('SIGTERM')
  const { stdout, stderr } = await ended
  expect(stdout + stderr).not.toContain('sentinel')
})

const isOld =
  machineNode !== undefined &&
  Number(execFileSync(machineNode, ['-p', 'process.versions.node']).toString().split('.')[0]) < 24

test.skipIf(!isOld)('says in one line which Node is needed when there is none', async () => {
  const alone = join(folder, 'alone.mjs')
  copyFileSync(launcher, alone)
  expect(await end(start(machineNode ?? '', ['status'], alone))).toEqual({
    code: 1,
    signal: null,
    stdout: '',
    stderr:
      'wrong_node: Node 24 or later is needed. — who can act: operator. Install Node 24, or run "npm ci" with optional packages.\n',
  })
})
