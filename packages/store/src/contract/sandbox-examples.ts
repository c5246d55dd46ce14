import type { SessionSandbox } from '@sallyport/core'
import type { SandboxEvidence } from '@sallyport/protocol'
import { newId, start } from './examples.ts'

const command = `sha256:${'5'.repeat(64)}`
let count = 0
const noCapabilities = '0000000000000000'

export function exampleEvidence(given: Partial<SandboxEvidence> = {}): SandboxEvidence {
  return {
    version: 1,
    isolation: 'none',
    process: { pid: 7, boot: 'boot', namespace: 'pid:[1]', start: '9' },
    isFirst: false,
    processes: 1,
    command,
    environment: ['PATH'],
    namespaces: [],
    uids: [1, 1, 1, 1],
    gids: [2, 2, 2, 2],
    groups: [],
    uidMap: '0 0 4294967295',
    gidMap: '0 0 4294967295',
    capabilities: {
      inheritable: noCapabilities,
      permitted: noCapabilities,
      effective: noCapabilities,
      bounding: noCapabilities,
      ambient: noCapabilities,
    },
    noNewPrivileges: false,
    seccomp: { mode: 0, filters: 0 },
    mounts: [],
    descriptors: [],
    network: { interfaces: ['lo'], routes: 0 },
    limits: { processes: 1, openFiles: 1, coreBytes: 0 },
    ...given,
  }
}

export function exampleSandbox(given: Partial<SessionSandbox> = {}): SessionSandbox {
  return {
    sessionId: newId('session'),
    plan: {
      version: 1,
      isolation: 'none',
      command,
      environment: ['PATH'],
      user: { uid: 1, gid: 2, hostUid: 1, hostGid: 2, hostGroups: [] },
      namespaces: [],
      nesting: true,
      network: 'shared',
      mounts: [],
      descriptors: [],
      seccomp: null,
      limits: null,
    },
    owner: { pid: 5, boot: 'boot', namespace: 'pid:[1]', start: '3' },
    ownerHash: `sha256:owner ${++count}`,
    evidence: null,
    provedAt: null,
    seenAt: start,
    ...given,
  }
}
