import type { Answer, RequestBody, SandboxEvidence } from '@sallyport/protocol'
import type { PreparedHarness, ShimPlace } from '../harness/harness-adapter.ts'
import type { GuestReach } from '../outlets/guest-reach.ts'
import type { Guest, GuestStdio, Sandbox } from '../sandbox.ts'
import type { PulseTiming } from './pulse.ts'
import type { SessionPort } from './session-port.ts'

export interface RunRequest {
  readonly sandbox: Sandbox
  readonly port: SessionPort
  readonly session: Omit<RequestBody<'session.create'>, 'isolation' | 'sandbox' | 'socket'>
  readonly prepared: PreparedHarness
  readonly shim: ShimPlace
  /** Of the network; absent: nothing. */
  readonly reach?: GuestReach
  readonly workspace: string
  readonly dataFolder: string
  readonly stdio: GuestStdio
  /** In which the folder for the socket is made. */
  readonly runtimeFolder: string
  /** What the guest was told that folder will be, when it had to be told before. */
  readonly channelFolder?: string
  /** Aborted when everything has to end. */
  readonly stop: AbortSignal
  readonly told?: (event: RunEvent) => void
  readonly timing?: Partial<PulseTiming>
}

export type RunEvent =
  | { readonly kind: 'created'; readonly session: Answer<'session.create'> }
  | { readonly kind: 'made'; readonly guest: Guest }
  | { readonly kind: 'verified'; readonly evidence: SandboxEvidence }
  | { readonly kind: 'released'; readonly guest: Guest }
  | { readonly kind: 'unresolved'; readonly reason: string }

export interface RunEnd {
  readonly session: string
  /** The guest's, as a shell has it. */
  readonly code: number
  readonly reason: string
}
