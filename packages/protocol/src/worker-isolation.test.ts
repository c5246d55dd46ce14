import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { readProcessWalls } from './process-walls.ts'
import { isolationLayers, judgeWalls, type ProcessWalls } from './worker-isolation.ts'

const beside: ProcessWalls = {
  boot: 'one',
  namespaces: { ipc: 'ipc:[1]', mnt: 'mnt:[1]', pid: 'pid:[1]', uts: 'uts:[1]' },
  root: { place: '8:1 /', isReadOnly: false },
  uid: 0,
  hasCapabilities: true,
  noNewPrivileges: false,
  seccomp: false,
  nodePermission: false,
  variables: 9,
}
const walled: ProcessWalls = {
  boot: 'one',
  namespaces: { ipc: 'ipc:[2]', mnt: 'mnt:[2]', pid: 'pid:[2]', uts: 'uts:[2]' },
  root: { place: '0:40 /', isReadOnly: true },
  uid: 61_999,
  hasCapabilities: false,
  noNewPrivileges: true,
  seccomp: true,
  nodePermission: true,
  variables: 0,
}
const all = (state: string) => Object.fromEntries(isolationLayers.map((layer) => [layer, state]))

test('a process that shares everything with who looks has no layer on, a walled one has all', () => {
  expect(judgeWalls(beside, beside)).toEqual(all('off'))
  expect(judgeWalls(walled, beside)).toEqual(all('on'))
})

test.each<[keyof typeof changes, string]>([
  ['a root that can be written', 'files'],
  ['the root of the machine, read-only', 'files'],
  ['the mounts of the machine', 'files'],
  ['the processes of the machine', 'processes'],
  ['the name of the machine', 'processes'],
  ['root', 'user'],
  ['a capability', 'user'],
  ['privileges to be gained', 'privileges'],
  ['no filter', 'system_calls'],
  ['no limits of Node', 'permission'],
  ['a variable', 'environment'],
])('with %s, %s is off and nothing else', (change, layer) => {
  const found = judgeWalls({ ...walled, ...changes[change] }, beside)
  expect(found).toEqual({ ...all('on'), [layer]: 'off' })
})

const { namespaces } = walled
const changes = {
  'a root that can be written': { root: { place: '0:40 /', isReadOnly: false } },
  'the root of the machine, read-only': { root: { place: '8:1 /', isReadOnly: true } },
  'the mounts of the machine': { namespaces: { ...namespaces, mnt: 'mnt:[1]' } },
  'the processes of the machine': { namespaces: { ...namespaces, pid: 'pid:[1]' } },
  'the name of the machine': { namespaces: { ...namespaces, uts: 'uts:[1]' } },
  root: { uid: 0 },
  'a capability': { hasCapabilities: true },
  'privileges to be gained': { noNewPrivileges: false },
  'no filter': { seccomp: false },
  'no limits of Node': { nodePermission: false },
  'a variable': { variables: 1 },
} as unknown as Record<string, Partial<ProcessWalls>>

test('on another machine the same numbers mean something else', () => {
  const there = { ...beside, boot: 'two', root: { place: '8:1 /', isReadOnly: true } }
  expect(judgeWalls(there, beside)).toMatchObject({ files: 'on', processes: 'on', user: 'off' })
  expect(judgeWalls({ ...there, boot: 'one' }, beside)).toMatchObject({ files: 'off' })
})

test('what the system does not tell is unknown, and never on', () => {
  const untold = { ...walled, boot: null, namespaces: null, root: null, uid: null, seccomp: null }
  expect(judgeWalls(untold, beside)).toEqual({
    ...all('on'),
    files: 'unknown',
    processes: 'unknown',
    user: 'unknown',
    system_calls: 'unknown',
  })
})

/** What a Node of its own finds, started with these words before it. */
function found(words: readonly string[], flags: readonly string[] = []): ProcessWalls {
  const module = fileURLToPath(new URL('process-walls.ts', import.meta.url))
  const script = `import { readProcessWalls } from ${JSON.stringify(module)}
    console.log(JSON.stringify(readProcessWalls()))`
  const node = [process.execPath, ...flags, '--input-type=module', '-e', script]
  const [program = '', ...rest] = [...words, ...node]
  return JSON.parse(execFileSync(program, rest, { env: {}, encoding: 'utf8' }))
}

test.skipIf(process.platform !== 'linux')(
  'a process finds its own walls as they are, and a new namespace as another',
  () => {
    const here = readProcessWalls()
    expect(here.namespaces?.pid).toMatch(/^pid:\[\d+\]$/)
    expect(here.uid).toBe(process.getuid?.())
    const bare = found([])
    expect(bare).toEqual({ ...here, variables: 0, seccomp: bare.seccomp })
    const inside = found(['unshare', '--user', '--map-root-user', '--uts'])
    expect(inside.namespaces?.uts).not.toBe(bare.namespaces?.uts)
    expect(inside.namespaces?.pid).toBe(bare.namespaces?.pid)
    // Root by its own number only.
    expect(inside.uid).toBe(bare.uid)
    const gained = found(['setpriv', '--no-new-privs'])
    expect([bare.noNewPrivileges, gained.noNewPrivileges]).toEqual([here.noNewPrivileges, true])
  },
)

test('limits of Node that leave all files to be read are none', () => {
  const read = '--allow-fs-read=*'
  expect(found([], ['--permission', read]).nodePermission).toBe(false)
  const place = fileURLToPath(new URL('.', import.meta.url))
  expect(found([], ['--permission', `--allow-fs-read=${place}`]).nodePermission).toBe(true)
})
