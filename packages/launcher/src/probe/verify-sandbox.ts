/** Makes a sandbox for nothing but to be looked at, from outside and from inside, and says what was found. */
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import {
  type Mismatch,
  SallyportError,
  type SandboxEvidence,
  type SandboxPlan,
} from '@sallyport/protocol'
import { removeFolder } from '@sallyport/protocol/node'
import type { Guest, Sandbox } from '../sandbox.ts'
import { attemptsIn, controls, guestProbe } from './guest-side.ts'
import { openHostSide } from './host-side.ts'

export interface Finding {
  readonly name: string
  readonly isGood: boolean
  readonly text: string
}

export interface SandboxReport {
  readonly plan: SandboxPlan
  readonly evidence: SandboxEvidence
  readonly findings: readonly Finding[]
}

const nodeAt = '/opt/sallyport/node'

/** `dataFolder` is what the probe must not see. Rejects with `no_isolation`, `sandbox_failed`, `not_gone`. */
export async function verifySandbox(sandbox: Sandbox, dataFolder: string): Promise<SandboxReport> {
  if ((await sandbox.lacks()) !== undefined) throw new SallyportError('no_isolation')
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-verify-'))
  const hostSide = await openHostSide()
  try {
    mkdirSync(join(folder, 'workspace'))
    mkdirSync(join(folder, 'hidden'))
    const hidden = join(folder, 'hidden')
    const probe = guestProbe({ targets: hostSide.targets, pid: process.pid, hidden })
    const planned = sandbox.plan({
      command: [nodeAt, '-e', probe],
      environment: {},
      workspace: join(folder, 'workspace'),
      dataFolder,
      mounts: [{ from: process.execPath, at: nodeAt }],
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const report = await lookAndDestroy(await sandbox.create(planned))
    removeFolder(folder)
    return report
  } finally {
    await hostSide.close()
  }
}

async function lookAndDestroy(guest: Guest): Promise<SandboxReport> {
  const [looked] = await Promise.allSettled([look(guest)])
  const destroyed = await guest.destroy()
  if (destroyed.state === 'unresolved')
    throw new SallyportError('not_gone', { cause: destroyed.reason })
  if (looked.status === 'rejected') throw looked.reason
  return looked.value
}

async function look(guest: Guest): Promise<SandboxReport> {
  const { evidence, mismatches } = await guest.verify()
  const { plan } = guest
  const outside = outsideFindings(evidence, mismatches)
  if (mismatches.length > 0) return { plan, evidence, findings: outside }
  guest.release()
  const output = await text(guest.stdout as NodeJS.ReadableStream)
  await guest.ended
  return { plan, evidence, findings: [...outside, ...insideFindings(output)] }
}

/** One line for what belongs together, so that a person can read it. */
const groups: readonly { name: string; of: RegExp; say: (seen: SandboxEvidence) => string }[] = [
  {
    name: 'namespaces',
    of: /namespace$|^first process$|^processes$/,
    say: ({ namespaces }) => `${namespaces.map(({ kind }) => kind).join(', ')}: its own`,
  },
  {
    name: 'network',
    of: /^interfaces$|^routes$/,
    say: ({ network }) => `interfaces ${network.interfaces.join(', ')}; ${network.routes} routes`,
  },
  {
    name: 'user',
    of: /^(?:uid map|gid map|uids|gids|groups)$/,
    say: ({ uidMap }) => `inside, outside, count: ${uidMap}`,
  },
  { name: 'capabilities', of: /capabilities$/, say: () => 'none, in any set' },
  {
    name: 'privileges',
    of: /^no new privileges$/,
    say: () => 'none can be gained',
  },
  {
    name: 'system calls',
    of: /seccomp$/,
    say: ({ seccomp }) => `filtered (mode ${seccomp.mode}, ${seccomp.filters} filter)`,
  },
  { name: 'mounts', of: /^mount$/, say: ({ mounts }) => `${mounts.length}, all as planned` },
  {
    name: 'descriptors',
    of: /^descriptors$/,
    say: ({ descriptors }) => descriptors.map(({ fd, is }) => `${fd} ${is}`).join(', '),
  },
  {
    name: 'environment',
    of: /^environment$|^command$/,
    say: ({ environment }) => environment.join(', '),
  },
  {
    name: 'limits',
    of: /limit$/,
    say: ({ limits }) => `${limits.processes} processes, ${limits.openFiles} open files`,
  },
]

function outsideFindings(evidence: SandboxEvidence, mismatches: readonly Mismatch[]): Finding[] {
  return groups.map(({ name, of, say }) => {
    const wrong = mismatches.filter(({ what }) => of.test(what))
    const told = wrong.map(
      ({ what, expected, found }) => `${what}: ${expected} planned, ${found} seen`,
    )
    return {
      name,
      isGood: wrong.length === 0,
      text: wrong.length ? told.join('; ') : say(evidence),
    }
  })
}

function insideFindings(output: string): Finding[] {
  const attempts = attemptsIn(output)
  const isWhole = controls.every((name) => attempts.some((one) => one.name === name))
  const whole: Finding = {
    name: 'probe',
    isGood: isWhole,
    text: isWhole ? `${attempts.length} attempts from inside` : 'the probe did not come to its end',
  }
  const each = attempts.map(({ name, outcome, detail }): Finding => {
    const isAllowed = controls.includes(name)
    return {
      name: `inside: ${name}`,
      isGood: outcome === (isAllowed ? 'done' : 'denied'),
      text: outcome === 'done' ? 'done' : `denied (${detail})`,
    }
  })
  return [whole, ...each]
}
