import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import {
  type Architecture,
  architectures,
  auditArchitecture,
  dangerousCalls,
  firstYounger,
  ownArchitecture,
  type SystemCall,
  systemCalls,
} from '@sallyport/protocol/seccomp'
import { expect, test } from 'vitest'
import { runFilter } from '../../../../../packages/protocol/src/seccomp/run-filter.ts'
import { filterWords, sendFilter } from './try-program.ts'
import { workerFilter } from './worker-filter.ts'

const [allow, kill] = [0x7fff0000, 0x80000000]
const [eperm, enosys] = [0x00050001, 0x00050026]
const [stream, dgram, cloexec] = [1, 2, 0o2000000]
const [newUser, newNetwork, thread, sigchld] = [0x10000000, 0x40000000, 0x10000, 17]

/** Undefined: no such call there. */
function verdict(
  architecture: Architecture,
  name: SystemCall | number,
  args: readonly number[] = [],
  runsProgram = false,
): number | undefined {
  const number = typeof name === 'number' ? name : systemCalls[name][architecture]
  if (number === null) return undefined
  const input = { architecture: auditArchitecture[architecture], number, arguments: args }
  return runFilter(workerFilter(architecture, { runsProgram }), input)
}

test.each(architectures)('%s: threads may be started, processes not', (arch) => {
  expect(verdict(arch, 'clone', [thread + 0xf00])).toBe(allow)
  expect(verdict(arch, 'clone', [sigchld])).toBe(eperm)
  for (const flag of [newUser, newNetwork])
    expect(verdict(arch, 'clone', [thread + 0xf00 + flag])).toBe(eperm)
  expect(verdict(arch, 'clone3')).toBe(enosys)
  for (const name of ['fork', 'vfork', 'execveat'] as const)
    expect([eperm, undefined], name).toContain(verdict(arch, name))
})

test.each(architectures)(
  '%s: where a program gives the key, it is started, and may ask the kernel',
  (arch) => {
    expect(verdict(arch, 'clone', [sigchld], true)).toBe(allow)
    for (const flag of [newUser, newNetwork])
      expect(verdict(arch, 'clone', [sigchld + flag], true)).toBe(eperm)
    for (const name of ['keyctl', 'add_key', 'request_key'] as const) {
      expect(verdict(arch, name, [], true), name).toBe(allow)
      expect(verdict(arch, name), name).toBe(eperm)
    }
    for (const name of ['ptrace', 'mount', 'bpf', 'unshare', 'io_uring_setup'] as const)
      expect(verdict(arch, name, [], true), name).toBe(eperm)
  },
)

test.each(architectures)('%s: sockets are those of IP, and streams of Unix', (arch) => {
  for (const family of [2, 10])
    for (const type of [stream, dgram]) expect(verdict(arch, 'socket', [family, type])).toBe(allow)
  expect(verdict(arch, 'socket', [1, stream + cloexec])).toBe(allow)
  expect(verdict(arch, 'socket', [1, dgram])).toBe(eperm)
  for (const family of [0, 16, 17, 38, 40])
    expect(verdict(arch, 'socket', [family, stream])).toBe(eperm)
})

test.each(architectures)(
  '%s: what is dangerous is refused, what is younger is not there, the rest passes',
  (arch) => {
    for (const name of dangerousCalls)
      expect([eperm, undefined], name).toContain(verdict(arch, name))
    for (const number of [firstYounger, 462, 500]) expect(verdict(arch, number)).toBe(enosys)
    const known = Object.values(systemCalls).map((numbers) => numbers[arch])
    for (let number = 0; number < firstYounger; number++)
      if (!known.includes(number)) expect(verdict(arch, number), `${number}`).toBe(allow)
  },
)

test('calls of another architecture, and x32 calls, end the process', () => {
  const program = workerFilter('x64', { runsProgram: false })
  expect(runFilter(program, { architecture: 0x40000003, number: 20 })).toBe(kill)
  expect(verdict('x64', 0x40000000 + 41, [16, 3])).toBe(kill)
})

/** With arguments that no kernel goes on with, so that nothing is done where nothing forbids it. */
const tried: readonly (readonly [SystemCall, readonly number[]])[] = [
  ['ptrace', [0x4206, 0, 0, 0]],
  ['process_vm_readv', [0, 0, 0, 0, 0, 1]],
  ['process_vm_writev', [0, 0, 0, 0, 0, 1]],
  ['pidfd_getfd', [-1, 0, 0]],
  ['bpf', [9_999, 0, 0]],
  ['perf_event_open', [0, 0, -1, -1, 9_999]],
  ['userfaultfd', [9_999]],
  ['io_uring_setup', [0, 0]],
  ['keyctl', [9_999]],
  ['add_key', [0, 0, 0, 0, 0]],
  ['unshare', [0x1]],
  ['setns', [-1, 0]],
  ['shmget', [0, 0, 0]],
  ['fsopen', [0, 9_999]],
  ['mount', [0, 0, 0, 0, 0]],
  ['pivot_root', [0, 0]],
  ['kexec_load', [0, 17, 0, 9_999]],
  ['init_module', [0, 0, 0]],
]
/** What must work for anything to. */
const needed = ['getpid', 'openat'] as const

const architecture = ownArchitecture()
const sandbox = [
  ...(process.getuid?.() === 0 ? [] : ['--unshare-user', '--disable-userns']),
  ...['--unshare-pid', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
]
const lacking = ['/usr/bin/perl', '/usr/bin/bwrap'].find((path) => !existsSync(path)) ?? forbidden()
function forbidden(): string | undefined {
  try {
    execFileSync('bwrap', [...sandbox, 'true'], { stdio: 'pipe' })
    return undefined
  } catch (thrown) {
    return String(thrown)
  }
}

/** Errnos, 0 for a call that succeeds, in the order above. */
async function errnos(filter: Uint8Array | undefined): Promise<number[]> {
  const known = architecture as Architecture
  const calls = tried.map(([name, args]) => [systemCalls[name][known] as number, ...args])
  const others = { getpid: known === 'x64' ? 39 : 172, openat: known === 'x64' ? 257 : 56 }
  calls.push([others.getpid], [others.openat, -1, 0, 0, 0])
  const script = calls
    .map((words) => `$! = 0; print(syscall(${words.join(', ')}) == -1 ? $! + 0 : 0, "\\n");`)
    .join('\n')
  const words = [...sandbox, ...filterWords(filter, 3), '/usr/bin/perl', '-e', script]
  const child = spawn('bwrap', words, { env: {}, stdio: ['ignore', 'pipe', 'inherit', 'pipe'] })
  sendFilter(child.stdio[3], filter)
  let said = ''
  child.stdout?.on('data', (data: Buffer) => {
    said += data.toString()
  })
  await once(child, 'close')
  return said.trim().split('\n').map(Number)
}

const title = 'this kernel refuses each of them behind the filter, and goes on with what is needed'
test.skipIf(lacking !== undefined || !architecture)(
  lacking === undefined ? title : `${title}: not run here. ${lacking}`,
  async () => {
    const filter = workerFilter(architecture as Architecture, { runsProgram: false })
    const [behind, without] = [await errnos(filter), await errnos(undefined)]
    const named = (found: readonly number[]) =>
      Object.fromEntries([...tried.map(([name]) => name), ...needed].map((n, i) => [n, found[i]]))
    const EPERM = 1
    const EBADF = 9
    const refused = Object.fromEntries(tried.map(([name]) => [name, EPERM]))
    expect(named(behind)).toEqual({ ...refused, getpid: 0, openat: expect.any(Number) })
    expect(named(behind)['openat']).not.toBe(EPERM)
    // The control: most are not refused to who is not behind it; the rest this user may not do anyway.
    const free = tried.filter((_, index) => without[index] !== EPERM)
    expect(free.length, JSON.stringify(named(without))).toBeGreaterThan(8)
    expect(named(without)['setns']).toBe(EBADF)
  },
)
