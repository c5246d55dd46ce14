/** The call behind a row, made again from what is stored: for whoever comes for it, and for what goes on without a caller. */
import type { BodySealer } from '../body/body.ts'
import type { Execution } from '../execution/execution.ts'
import type { Store } from '../store.ts'
import type { Caller, CallRequest } from './ports.ts'
import type { Toolsets } from './toolset.ts'
import type { Hold } from './verdict-of-barrier.ts'

export interface StoredCall {
  readonly request: CallRequest
  readonly argumentsText: string
  readonly on: Hold
}

export interface CallOfRowDeps {
  readonly store: Store
  readonly toolsets: Toolsets
  readonly bodies: BodySealer
}

/** Undefined when its session, its tool or its arguments are not there any more. */
export async function callOfRow(
  row: Execution,
  caller: Omit<Caller, 'session'>,
  { store, toolsets, bodies }: CallOfRowDeps,
): Promise<StoredCall | undefined> {
  const session = await store.sessions.get(row.sessionId)
  const kept = await store.bodies.get(row.id, 'arguments')
  if (!session || !kept) return undefined
  const { tools } = await toolsets.of(session)
  const tool = tools.find(({ binding }) => binding.id === row.bindingId)
  const profile = await store.profiles.get(session.profileId)
  if (!tool || !profile) return undefined
  const argumentsText = bodies.open(row.id, 'arguments', kept.sealed).toString('utf8')
  const { era, progress, cancelled, left, held } = caller
  return {
    argumentsText,
    request: {
      session,
      tool,
      argumentsText,
      callId: row.callId,
      era,
      ...(progress ? { progress } : {}),
      ...(cancelled ? { cancelled } : {}),
      ...(left ? { left } : {}),
      ...(held ? { held } : {}),
    },
    on: {
      for: row.state === 'awaiting_approval' ? 'person' : 'identical_call',
      holdMs: profile.settings.holdSeconds * 1000,
      expiresAt: undefined,
    },
  }
}
