/**
 * A sandbox, whatever makes it: planned, made with its guest stopped, looked at from outside, and only then let go.
 * Nothing of the guest's own runs before `release`.
 */
import type { Readable, Writable } from 'node:stream'
import type {
  BornProcess,
  Mismatch,
  SandboxClass,
  SandboxEvidence,
  SandboxPlan,
} from '@sallyport/protocol'

/** What is to run, and in what. Paths are of the host unless said otherwise. */
export interface GuestSpec {
  /** The first word is a path, or a name to be found in the guest's PATH. */
  readonly command: readonly string[]
  /** All the guest gets, beside what the sandbox itself needs (PATH, HOME, …; what is given here wins). */
  readonly environment: Readonly<Record<string, string>>
  /** The guest may write into it; it is where the command starts. */
  readonly workspace: string
  /** Sallyport's own folder: nothing the guest sees may contain it, be it, or lie in it (`channel` aside). */
  readonly dataFolder: string
  /** A folder with the session's socket, read-only for the guest. */
  readonly channel?: string
  /** More of the host, read-only unless said otherwise. */
  readonly mounts?: readonly GuestMount[]
  /** Folders that are there, in the guest's names: each is seen empty, and what is written there stays nowhere. */
  readonly covered?: readonly string[]
  readonly stdio: GuestStdio
  /** For agents that bring a sandbox of their own: they may make user namespaces and mounts. */
  readonly nesting?: boolean
  readonly limits?: Partial<GuestLimits>
  /** What of the network is carried for it, to be told with the plan. */
  readonly reach?: SandboxPlan['reach']
}

export interface GuestMount {
  readonly from: string
  /** In the guest. */
  readonly at: string
  readonly writable?: boolean
}

/** A small file made for the guest, read-only. What is in it is known only when the session is. */
export interface GuestFile {
  /** In the guest. */
  readonly at: string
  readonly text: string
}

/** As `spawn` has them. */
export type GuestStdio = readonly [stdin: StdioOf, stdout: StdioOf, stderr: StdioOf]
type StdioOf = 'inherit' | 'ignore' | 'pipe'

export interface GuestLimits {
  readonly processes: number
  readonly openFiles: number
  /** Of /tmp, of the home folder, and of /dev/shm; each counts against the machine's memory. */
  readonly temporaryKiB: number
}

export interface PlannedGuest {
  readonly spec: GuestSpec
  readonly plan: SandboxPlan
}

export interface Sandbox {
  readonly isolation: SandboxClass
  /** Why it cannot be used on this machine, in one sentence; undefined when it can. */
  lacks(): Promise<string | undefined>
  /** Throws a SallyportError for what must not be: `workspace_refused`, `environment_refused`, `file_unreadable`. */
  plan(spec: GuestSpec): PlannedGuest
  /** Rejects with `sandbox_failed`; then nothing of it is left. */
  create(planned: PlannedGuest, files?: readonly GuestFile[]): Promise<Guest>
}

/** Exists, stopped, until it is released. */
export interface Guest {
  readonly plan: SandboxPlan
  /** Its first process, as the host sees it. */
  readonly process: BornProcess
  /** Those that were asked for as pipes. */
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
  /** Once the guest has ended, whatever the reason. Never rejects. */
  readonly ended: Promise<GuestEnd>
  /** Looks from outside and compares with the plan. May be asked again at any time, also after the release. */
  verify(): Promise<Verification>
  /** Once, and only after a verification without a mismatch: else a TypeError. */
  release(): void
  /** Where the guest finds what was given as `channel`; undefined without one. */
  channel(): string | undefined
  /** To the guest's processes; nothing happens when there are none any more. */
  signal(name: NodeJS.Signals): void
  /** Ends it whatever state it is in, and proves it. May be asked again when it could not. */
  destroy(patienceMs?: number): Promise<Destroyed>
}

export interface Verification {
  readonly evidence: SandboxEvidence
  readonly mismatches: readonly Mismatch[]
}

export interface GuestEnd {
  /** As a shell has it: 128 and the number of the signal for what was killed. */
  readonly code: number
  /** It ended without having been released. */
  readonly wasStopped: boolean
}

/** `gone` is proved: nothing of the guest runs. Anything else is not known, and nothing may be taken away from under it. */
export type Destroyed =
  | { readonly state: 'gone' }
  | { readonly state: 'unresolved'; readonly reason: string }
