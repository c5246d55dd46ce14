import { fstatSync } from 'node:fs'
import type { SandboxPlan } from '@sallyport/protocol'
import { kindOf } from '../evidence/descriptors.ts'
import type { GuestStdio } from '../sandbox.ts'
import { gateDescriptors } from './gate.ts'

/**
 * What the gate holds open while it waits: the way to its launcher, nothing to say anything to, a place for complaints, and
 * the guest's three. Those it passes on.
 */
export function plannedDescriptors([
  stdin,
  stdout,
  stderr,
]: GuestStdio): SandboxPlan['descriptors'] {
  return [
    { fd: 0, is: 'pipe' },
    { fd: 1, is: 'null' },
    { fd: 2, is: 'pipe' },
    { fd: gateDescriptors.stdin, is: kindFor(stdin, 0) },
    { fd: gateDescriptors.stdout, is: kindFor(stdout, 1) },
    { fd: gateDescriptors.stderr, is: kindFor(stderr, 2) },
  ]
}

function kindFor(stdio: GuestStdio[number], own: number): 'terminal' | 'null' | 'pipe' | 'file' {
  if (stdio === 'pipe') return 'pipe'
  if (stdio === 'ignore') return 'null'
  const kind = kindOf(fstatSync(own))
  if (kind === 'other') throw new TypeError(`descriptor ${own} is nothing a guest can have`)
  return kind
}
