/**
 * What a sandbox is to be, written down before it is made. Its evidence is compared with this and with nothing else, so
 * everything that could let a guest out is here: what is not planned is a mismatch.
 */
import { z } from 'zod'
import { digest } from '../api/parts.ts'

export const namespaceKinds = ['user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup'] as const
export type NamespaceKind = (typeof namespaceKinds)[number]

/** Who makes and owns the sandbox of a session; `external` sessions have their creator's word instead. */
export const sandboxClasses = ['bubblewrap', 'none'] as const
export type SandboxClass = (typeof sandboxClasses)[number]

const path = z
  .string()
  .min(1)
  .max(4096)
  .regex(/^\/[^\0]*$/)
const id = z.int().min(0).max(0xffff_ffff)

export const plannedMount = z.strictObject({
  at: path,
  type: z.string().max(64).nullable().describe('file system; null = whatever the source has'),
  root: path.nullable().describe('where it begins in its file system; null = not judged'),
  device: z.string().max(32).nullable().describe('major:minor of what is bound; null = its own'),
  writable: z.boolean().nullable().describe('null = not judged'),
  devices: z.boolean().describe('device files work below it'),
  sizeKiB: z.int().positive().nullable(),
  optional: z.boolean().describe('there only on some machines'),
})
export type PlannedMount = z.infer<typeof plannedMount>

/** What a descriptor leads to. */
export const descriptorKinds = ['terminal', 'null', 'pipe', 'file'] as const
export type DescriptorKind = (typeof descriptorKinds)[number]
export const descriptor = z.strictObject({ fd: z.int().min(0), is: z.enum(descriptorKinds) })

export const sandboxLimits = z.strictObject({
  processes: z.int().positive(),
  openFiles: z.int().positive(),
  coreBytes: z.int().min(0),
})

/** What of the network a launcher carries for a guest that has none. */
export const carriedReach = z.strictObject({
  model: z
    .string()
    .max(2_048)
    .nullable()
    .describe('everything below it is relayed; null = nothing'),
  modelKey: z
    .enum(['outside', 'inside'])
    .nullable()
    .describe('where the key of the model is; null = there is none'),
  hosts: z.array(z.string().max(300)).max(256).describe('that a forward proxy leads to'),
})

export const sandboxPlan = z.strictObject({
  version: z.literal(1),
  isolation: z.enum(sandboxClasses),
  command: digest.describe('over the canonical JSON of the words of the command'),
  environment: z.array(z.string().max(256)).max(512).describe('names, sorted'),
  user: z.strictObject({
    uid: id,
    gid: id,
    hostUid: id,
    hostGid: id,
    hostGroups: z.array(id).max(1024).describe('nobody can give these up without privileges'),
  }),
  namespaces: z.array(z.enum(namespaceKinds)).max(7).describe('those that are its own'),
  nesting: z.boolean().describe('the guest may make user namespaces, for a sandbox of its own'),
  network: z.enum(['none', 'shared']),
  mounts: z.array(plannedMount).max(512),
  descriptors: z.array(descriptor).max(64),
  seccomp: z.strictObject({ digest }).nullable(),
  limits: sandboxLimits.nullable(),
  reach: carriedReach.optional().describe('absent = nothing is carried'),
})
export type SandboxPlan = z.infer<typeof sandboxPlan>
