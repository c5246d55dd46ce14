import { expect, test } from 'vitest'
import { compareEvidence } from './compare-evidence.ts'
import { type SandboxEvidence, sandboxEvidence } from './evidence.ts'
import { judgePlan } from './judge-plan.ts'
import { namespaceKinds, type SandboxPlan, sandboxPlan } from './plan.ts'
import { sampleEvidence, sampleMount, samplePlan } from './sample-sandbox.ts'

const other = `sha256:${'b'.repeat(64)}`
const [plan, seen, seenMount] = [samplePlan, sampleEvidence, sampleMount]

const withMount = (at: string, change: Partial<SandboxEvidence['mounts'][number]>) => ({
  mounts: seen.mounts.map((one) => (one.at === at ? { ...one, ...change } : one)),
})
const shared = (kind: string) => ({
  namespaces: seen.namespaces.map((one) => (one.kind === kind ? { ...one, guest: one.host } : one)),
})
const whats = (change: Partial<SandboxEvidence>, of: SandboxPlan = plan) =>
  compareEvidence(of, { ...seen, ...change }).map(({ what }) => what)

test('a sandbox that is as planned shows no mismatch, and both are what the wire takes', () => {
  expect(compareEvidence(plan, seen)).toEqual([])
  expect(sandboxPlan.parse(plan)).toEqual(plan)
  expect(sandboxEvidence.parse(seen)).toEqual(seen)
  expect(judgePlan(plan)).toEqual([])
})

test.each([
  ['another command', { command: other }, 'command'],
  ['a variable more', { environment: ['HOME', 'PATH', 'TOKEN'] }, 'environment'],
  [
    'a descriptor more',
    { descriptors: [...seen.descriptors, { fd: 77, is: 'file' }] },
    'descriptors',
  ],
  [
    'a descriptor that leads elsewhere',
    {
      descriptors: [
        { fd: 0, is: 'file' },
        { fd: 7, is: 'terminal' },
      ],
    },
    'descriptors',
  ],
  ['another user', { uids: [0, 501, 501, 501] }, 'uids'],
  ['another group', { gids: [20, 0, 20, 20] }, 'gids'],
  ['a group more', { groups: [12, 27, 999] }, 'groups'],
  ['root inside', { uidMap: '0 501 1' }, 'uid map'],
  ['more users inside', { uidMap: '1000 501 1; 0 0 1' }, 'uid map'],
  ['another group inside', { gidMap: '0 20 1' }, 'gid map'],
  ['a second process', { processes: 2 }, 'processes'],
  ['a process that is not the first', { isFirst: false }, 'first process'],
  ['privileges to be had', { noNewPrivileges: false }, 'no new privileges'],
  ['no filter', { seccomp: { mode: 0, filters: 0 } }, 'seccomp'],
  ['another filter', { seccomp: { mode: 2, filters: 2 } }, 'seccomp'],
  ['a second interface', { network: { interfaces: ['eth0', 'lo'], routes: 0 } }, 'interfaces'],
  ['a route', { network: { interfaces: ['lo'], routes: 1 } }, 'routes'],
  ['more processes allowed', { limits: { ...seen.limits, processes: 101 } }, 'process limit'],
  ['more files allowed', { limits: { ...seen.limits, openFiles: 201 } }, 'open file limit'],
  ['core dumps', { limits: { ...seen.limits, coreBytes: 1 } }, 'core limit'],
  ['a mount more', { mounts: [...seen.mounts, seenMount('/host')] }, 'mount'],
  ['a mount less', { mounts: seen.mounts.slice(0, -1) }, 'mount'],
  ['a mount over another', { mounts: [...seen.mounts, seenMount('/usr')] }, 'mount'],
  ['a mount of another place', withMount('/workspace', { root: '/y' }), 'mount'],
  ['a mount of another device', withMount('/usr', { device: '8:2' }), 'mount'],
  ['another file system', withMount('/', { type: 'ext4' }), 'mount'],
  ['a root that can be written', withMount('/', { options: ['rw', 'nosuid', 'nodev'] }), 'mount'],
  [
    'a workspace that cannot',
    withMount('/workspace', { options: ['ro', 'nosuid', 'nodev'] }),
    'mount',
  ],
  ['setuid programs', withMount('/usr', { options: ['ro', 'nodev'] }), 'mount'],
  ['device files', withMount('/usr', { options: ['ro', 'nosuid'] }), 'mount'],
  ['a larger temporary folder', withMount('/tmp', { sizeKiB: 65 }), 'mount'],
] as const)('%s is a mismatch, and the only one', (_what, change, what) => {
  expect(whats(change as Partial<SandboxEvidence>)).toEqual([what])
})

test.each(namespaceKinds)('a shared %s namespace is a mismatch, an unseen one too', (kind) => {
  expect(whats(shared(kind))).toEqual([`${kind} namespace`])
  const namespaces = seen.namespaces.filter((one) => one.kind !== kind)
  expect(whats({ namespaces })).toEqual([`${kind} namespace`])
})

test.each(Object.keys(seen.capabilities))('%s capabilities are a mismatch', (set) => {
  const capabilities = { ...seen.capabilities, [set]: '0000000000200000' }
  expect(whats({ capabilities })).toEqual([`${set} capabilities`])
})

test('what may be there on some machines may be there, as planned', () => {
  const irq = seenMount('/proc/irq', { type: 'proc' })
  expect(whats({ mounts: [...seen.mounts, irq] })).toEqual([])
  const writable = { ...irq, options: ['rw', 'nosuid', 'nodev'] }
  expect(whats({ mounts: [...seen.mounts, writable] })).toEqual(['mount'])
})

test('of a guest that runs its walls are compared, and not what it does within them', () => {
  const doing = {
    ...seen,
    processes: 9,
    command: other,
    environment: [],
    descriptors: [],
  }
  expect(compareEvidence(plan, doing, 'running')).toEqual([])
  expect(compareEvidence(plan, doing)).toHaveLength(4)
  const broken = { ...doing, network: { interfaces: ['eth0', 'lo'], routes: 0 } }
  expect(compareEvidence(plan, broken, 'running')).toHaveLength(1)
})

test('evidence of another class is a mismatch', () => {
  expect(whats({ isolation: 'none' })).toContain('isolation')
  expect(whats({}, { ...plan, isolation: 'none' })).toEqual(['isolation'])
})

test('of class none only that is compared which it promises', () => {
  const none: SandboxPlan = { ...plan, isolation: 'none', mounts: [], namespaces: [] }
  const bare: Partial<SandboxEvidence> = { isolation: 'none', ...shared('net'), uidMap: '0 0 1' }
  expect(whats(bare, none)).toEqual([])
  expect(whats({ ...bare, environment: ['HOME', 'PATH', 'TOKEN'] }, none)).toEqual(['environment'])
  expect(judgePlan(none)).toEqual([])
})

test.each([
  ['a namespace less', { namespaces: namespaceKinds.slice(1) }, 'planned namespaces'],
  ['the network of the host', { network: 'shared' }, 'planned network'],
  ['no filter', { seccomp: null }, 'planned seccomp'],
  ['no limits', { limits: null }, 'planned limits'],
  ['root inside', { user: { ...plan.user, uid: 0 } }, 'planned user'],
] as const)('a plan with %s is none of its class, whatever the evidence', (_what, change, what) => {
  expect(judgePlan({ ...plan, ...change } as SandboxPlan).map((one) => one.what)).toEqual([what])
})
