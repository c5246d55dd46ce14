/** Where an agent program will find things: in a sandbox always in the same places, without one in folders of this run. */
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { SallyportError } from '@sallyport/protocol'
import type { Environment } from '../guest/environment.ts'
import { guestPlaces } from '../guest/places.ts'
import type { HarnessRequest } from './harness-adapter.ts'

export interface HarnessPlaces {
  readonly home: string
  readonly workspace: string
  readonly channel: string
  /** What tells it of them, where that is not told anyway. */
  readonly environment: Environment
}

export const hasWalls = ({ isolation }: Pick<HarnessRequest, 'isolation'>): boolean =>
  isolation !== 'none'

/** Throws `not_enforceable` without walls and a folder of the run, and `file_unreadable` for a workspace that is not there. */
export function harnessPlaces(asked: HarnessRequest): HarnessPlaces {
  if (hasWalls(asked)) return { ...guestPlaces, environment: {} }
  const { channelFolder: channel } = asked
  if (channel === undefined) throw new SallyportError('not_enforceable', { field: 'sandbox' })
  // In a home of its own it finds neither the user's settings nor what they are signed in with.
  const home = join(channel, 'home')
  return { channel, home, workspace: realWorkspace(asked), environment: { HOME: home } }
}

function realWorkspace({ workspace }: HarnessRequest): string {
  try {
    return realpathSync(workspace)
  } catch (cause) {
    throw new SallyportError('file_unreadable', { field: 'workspace', cause })
  }
}
