import { type Ended, type GuestServer, makePlace } from './client-run.ts'

export type Era = 'legacy' | 'auto' | 'modern'

/** The Inspector takes the token on its command line only; give it a session of its own. */
export async function runInspector(job: {
  readonly program: string
  readonly server: GuestServer
  readonly era: Era
  readonly args: readonly string[]
}): Promise<Ended> {
  const place = await makePlace('inspector')
  const { endpoint, token } = job.server
  const where = ['--server-url', endpoint, '--transport', 'http']
  const who = ['--header', `Authorization: Bearer ${token}`]
  const how = ['--protocol-era', job.era, ...job.args, '--format', 'json']
  const run = place.start({ program: job.program, args: ['--cli', ...where, ...who, ...how] })
  try {
    return await run.ended
  } finally {
    await run.remove()
  }
}
