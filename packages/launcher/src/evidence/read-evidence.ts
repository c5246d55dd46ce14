/** Everything that is compared with a plan, read from outside of the sandbox, at one moment. */
import type { BornProcess, SandboxClass, SandboxEvidence } from '@sallyport/protocol'
import { digestOf } from '@sallyport/protocol/node'
import { readDescriptors } from './descriptors.ts'
import { parseLimits } from './limits.ts'
import { parseMountInfo } from './mount-info.ts'
import { processesIn, readNamespaces } from './namespaces.ts'
import { readNetwork } from './network.ts'
import { readProc } from './proc-file.ts'
import { parseStatus } from './status.ts'

export interface Looked {
  readonly isolation: SandboxClass
  readonly process: BornProcess
}

/** Throws when something cannot be read: what was not seen is no evidence. */
export function readEvidence({ isolation, process }: Looked): SandboxEvidence {
  const { pid } = process
  const of = (name: string): string => readProc(`/proc/${pid}/${name}`)
  const namespaces = readNamespaces(pid)
  const pidNamespace = namespaces.filter(({ kind }) => kind === 'pid')
  return {
    version: 1,
    isolation,
    process,
    ...parseStatus(of('status')),
    processes: processesIn(pidNamespace).length,
    command: digestOf(wordsIn(of('cmdline'))),
    environment: wordsIn(of('environ'))
      .map((entry) => entry.split('=', 1)[0] ?? '')
      .sort(),
    namespaces,
    uidMap: mapIn(of('uid_map')),
    gidMap: mapIn(of('gid_map')),
    mounts: parseMountInfo(of('mountinfo')),
    descriptors: readDescriptors(pid),
    network: readNetwork(pid),
    limits: parseLimits(of('limits')),
  }
}

/** Each ends with NUL. */
const wordsIn = (text: string): string[] => text.split('\0').slice(0, -1)

const mapIn = (text: string): string =>
  text
    .trim()
    .replace(/[ \t]+/g, ' ')
    .replace(/\n /g, '; ')
