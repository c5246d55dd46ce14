/** Where `up` keeps its data, and what the commands on the same machine find there. */
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { z } from 'zod'

interface Environment {
  readonly SALLYPORT_DATA?: string | undefined
  readonly XDG_DATA_HOME?: string | undefined
  readonly HOME?: string | undefined
}

/** `SALLYPORT_DATA`, else by the XDG rules (which say: a relative XDG path does not count). */
export function dataFolder(env: Environment): string {
  if (env.SALLYPORT_DATA) return env.SALLYPORT_DATA
  const xdg = env.XDG_DATA_HOME ?? ''
  const home = env.HOME || homedir()
  return join(isAbsolute(xdg) ? xdg : join(home, '.local', 'share'), 'sallyport')
}

/** The administrator's token, made at first start. */
export const adminTokenFile = (folder: string): string => join(folder, 'admin-token')

/** A `RunningGateway` as JSON, written by `up` once it is ready. */
export const endpointFile = (folder: string): string => join(folder, 'endpoint.json')

export const runningGateway = z.object({
  url: z.url(),
  guestUrl: z.url(),
  pid: z.int().positive(),
})
export type RunningGateway = z.infer<typeof runningGateway>
