import {
  type Architecture,
  architectures,
  auditArchitecture,
  dangerousCalls,
  type SystemCall,
  systemCalls,
} from '@sallyport/protocol/seccomp'
import { expect, test } from 'vitest'
import { runFilter } from '../../../protocol/src/seccomp/run-filter.ts'
import { seccompFilter } from './filter.ts'

const allow = 0x7fff0000
const kill = 0x80000000
const eperm = 0x00050001
const enosys = 0x00050026

const verdict = (
  architecture: Architecture,
  name: SystemCall | number,
  args: readonly number[] = [],
  nesting = false,
): number | undefined => {
  const number = typeof name === 'number' ? name : systemCalls[name][architecture]
  if (number === null) return undefined
  const input = { architecture: auditArchitecture[architecture], number, arguments: args }
  return runFilter(seccompFilter(architecture, { nesting }), input)
}

const [stream, dgram, raw, seqpacket] = [1, 2, 3, 5]
const [cloexec, nonblock] = [0o2000000, 0o4000]

test.each(architectures)(
  '%s: sockets of other families than IP and streams of Unix are refused',
  (arch) => {
    for (const family of [0, 3, 16, 17, 29, 38, 40, 44])
      expect(verdict(arch, 'socket', [family, stream])).toBe(eperm)
    for (const family of [2, 10]) expect(verdict(arch, 'socket', [family, dgram])).toBe(allow)
    for (const type of [stream, seqpacket, stream + cloexec + nonblock]) {
      expect(verdict(arch, 'socket', [1, type])).toBe(allow)
      expect(verdict(arch, 'socketpair', [1, type])).toBe(allow)
    }
    for (const type of [dgram, raw, dgram + cloexec]) {
      expect(verdict(arch, 'socket', [1, type])).toBe(eperm)
      expect(verdict(arch, 'socketpair', [1, type])).toBe(eperm)
    }
  },
)

test.each(architectures)('%s: no user namespace, except where nesting is planned', (arch) => {
  const [sigchld, newUser] = [17, 0x10000000]
  expect(verdict(arch, 'clone', [sigchld])).toBe(allow)
  expect(verdict(arch, 'clone', [sigchld + newUser])).toBe(eperm)
  expect(verdict(arch, 'clone3')).toBe(enosys)
  for (const name of ['unshare', 'setns', 'mount', 'fsopen', 'mount_setattr'] as const) {
    expect(verdict(arch, name), name).toBe(eperm)
    expect(verdict(arch, name, [], true), name).toBe(allow)
  }
  expect(verdict(arch, 'clone', [sigchld + newUser], true)).toBe(allow)
  expect(verdict(arch, 'clone3', [], true)).toBe(allow)
  expect(verdict(arch, 'socket', [16, raw], true)).toBe(allow)
  expect(verdict(arch, 'ptrace', [], true)).toBe(eperm)
})

test.each(architectures)('%s: nothing is pushed into a terminal, other requests pass', (arch) => {
  for (const request of [0x5412, 0x541c]) expect(verdict(arch, 'ioctl', [0, request])).toBe(eperm)
  expect(verdict(arch, 'ioctl', [0, 0x5401])).toBe(allow)
})

test.each(architectures)(
  '%s: every other call of the table is refused, the rest passes',
  (arch) => {
    const byArgument = ['clone', 'clone3', 'ioctl', 'socket', 'socketpair'] as const
    for (const name of dangerousCalls)
      expect([eperm, undefined], name).toContain(verdict(arch, name))
    const known = [...dangerousCalls, ...byArgument].map((name) => systemCalls[name][arch])
    for (let number = 0; number < 470; number++)
      if (!known.includes(number)) expect(verdict(arch, number), `${number}`).toBe(allow)
  },
)

test('calls of another architecture, and x32 calls, end the process', () => {
  const program = seccompFilter('x64', { nesting: false })
  const foreign = { architecture: 0x40000003, number: 20 }
  expect(runFilter(program, foreign)).toBe(kill)
  expect(verdict('x64', 0x40000000 + 41, [16, raw])).toBe(kill)
  const arm = seccompFilter('arm64', { nesting: true })
  expect(runFilter(arm, { architecture: auditArchitecture.x64, number: 1 })).toBe(kill)
})
