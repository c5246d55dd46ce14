/** What filters have in common: the frame around their rules, and some of these. */
import {
  encode,
  giveBack,
  type Instruction,
  load,
  mask,
  offsets,
  unlessEqual,
  verdicts,
  whenAnyBit,
  whenAtLeast,
  whenEqual,
} from './assemble.ts'
import {
  type Architecture,
  auditArchitecture,
  type SystemCall,
  systemCalls,
} from './system-calls.ts'

const errno = { EPERM: 1, ENOSYS: 38 }
/** The x32 calls of x86-64 have numbers of their own, which the lists do not know. */
const firstX32 = 0x40000000
export const socketFamilies = { unix: 1, inet: 2, inet6: 10, netlink: 16 } as const
const socketTypes = { stream: 1, seqpacket: 5 }
/** Of `clone`: a namespace of any kind. */
const newNamespaces = 0x7e020000

export const allowed = giveBack(verdicts.allow)
export const refused = giveBack(verdicts.refuse(errno.EPERM))
/** As on a kernel without that call. */
export const absent = giveBack(verdicts.refuse(errno.ENOSYS))
/** To be first where the flags of `clone` are loaded. */
export const refuseNewNamespaces = whenAnyBit(newNamespaces, [refused])

/** The program for `bwrap --seccomp`: what no rule decides is allowed, calls of another architecture end the process. */
export function filterOf(
  architecture: Architecture,
  rules: readonly (readonly Instruction[])[],
): Uint8Array {
  return encode([
    load(offsets.architecture),
    ...unlessEqual(auditArchitecture[architecture], [giveBack(verdicts.kill)]),
    load(offsets.number),
    ...(architecture === 'x64' ? whenAtLeast(firstX32, [giveBack(verdicts.kill)]) : []),
    ...rules.flat(),
    allowed,
  ])
}

/** The block, which decides, is for that call; on an architecture without it there is no rule. */
export function onCall(
  architecture: Architecture,
  name: SystemCall,
  block: readonly Instruction[],
): readonly Instruction[] {
  const number = systemCalls[name][architecture]
  return number === null ? [] : whenEqual(number, block)
}

/** Processes, but in no namespaces of their own. */
export function noNewNamespaces(architecture: Architecture): readonly Instruction[] {
  const unlessNew = [load(offsets.argument(0)), ...refuseNewNamespaces, allowed]
  return [...noCloneByMemory(architecture), ...onCall(architecture, 'clone', unlessNew)]
}

/** Its flags are in memory, which a filter cannot read; libraries fall back to `clone` when it is not there. */
export function noCloneByMemory(architecture: Architecture): readonly Instruction[] {
  return onCall(architecture, 'clone3', [absent])
}

/** Of these families, and of Unix only streams: a datagram socket, also one end of a pair, can be aimed at any socket file in sight. */
export function socketsOf(
  architecture: Architecture,
  families: readonly number[],
): readonly Instruction[] {
  const byFamily = [
    load(offsets.argument(0)),
    ...families.flatMap((family) => whenEqual(family, [allowed])),
    ...whenEqual(socketFamilies.unix, streamsOnly),
    refused,
  ]
  const pairs = [load(offsets.argument(0)), ...whenEqual(socketFamilies.unix, streamsOnly), allowed]
  return [...onCall(architecture, 'socket', byFamily), ...onCall(architecture, 'socketpair', pairs)]
}

const streamsOnly = [
  load(offsets.argument(1)),
  mask(0xf),
  ...Object.values(socketTypes).flatMap((type) => whenEqual(type, [allowed])),
  refused,
]
