/** What was seen of a sandbox from outside, between its making and its release. */
import { z } from 'zod'
import { digest } from '../api/parts.ts'
import { descriptorKinds, namespaceKinds, sandboxClasses, sandboxLimits } from './plan.ts'

const namespaceId = z.string().regex(/^\d{1,20}$/)
const ids = z.array(z.int()).length(4).describe('real, effective, saved, file system')
const capabilities = z.string().regex(/^[0-9a-f]{1,32}$/)

/** A process that cannot be mistaken for a later one with its number. */
export const bornProcess = z.strictObject({
  pid: z.int().positive(),
  boot: z.string().max(64),
  namespace: z.string().max(64).describe('pid namespace in which that number counts'),
  start: z.string().max(32).describe("the kernel's time of its start"),
})
export type BornProcess = z.infer<typeof bornProcess>

export const seenMount = z.strictObject({
  at: z.string().max(4096),
  type: z.string().max(64),
  root: z.string().max(4096),
  device: z.string().max(32),
  options: z.array(z.string().max(256)).max(64),
  sizeKiB: z.int().nullable(),
})
export type SeenMount = z.infer<typeof seenMount>

export const sandboxEvidence = z.strictObject({
  version: z.literal(1),
  isolation: z.enum(sandboxClasses),
  process: bornProcess.describe('the first process of the guest'),
  isFirst: z.boolean().describe('it is process 1 of its pid namespace'),
  processes: z.int().min(0).describe('processes in its pid namespace'),
  command: digest,
  environment: z.array(z.string().max(256)).max(512),
  namespaces: z
    .array(z.strictObject({ kind: z.enum(namespaceKinds), guest: namespaceId, host: namespaceId }))
    .max(7),
  uids: ids,
  gids: ids,
  groups: z.array(z.int()).max(1024),
  uidMap: z.string().max(4096),
  gidMap: z.string().max(4096),
  capabilities: z.strictObject({
    inheritable: capabilities,
    permitted: capabilities,
    effective: capabilities,
    bounding: capabilities,
    ambient: capabilities,
  }),
  noNewPrivileges: z.boolean(),
  seccomp: z.strictObject({ mode: z.int(), filters: z.int() }),
  mounts: z.array(seenMount).max(2048),
  descriptors: z
    .array(z.strictObject({ fd: z.int(), is: z.enum([...descriptorKinds, 'other']) }))
    .max(1024),
  network: z.strictObject({
    interfaces: z.array(z.string().max(64)).max(256),
    routes: z.int().describe('IPv4, and IPv6 beyond the loopback'),
  }),
  limits: sandboxLimits,
})
export type SandboxEvidence = z.infer<typeof sandboxEvidence>
