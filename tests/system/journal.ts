/** What the journal says, as tests ask for it. */
import { createHash } from 'node:crypto'
import type { Answer } from '@sallyport/protocol'
import type { Sallyport } from '../harness/start-sallyport.ts'
import { eventually } from './eventually.ts'

export type Row = Answer<'execution.list'>['items'][number]

const most = 1000

/** Rows of a session, oldest first. Throws when there may be more than one answer holds. */
export async function rowsOf({ api }: Pick<Sallyport, 'api'>, session: string): Promise<Row[]> {
  const { items } = await api('execution.list', { session, limit: most })
  if (items.length === most) throw new Error('too many rows for one look')
  return items.reverse()
}

/** The one row of a call with these arguments that was not refused. Their names must be given in order. */
export async function rowOf(
  sallyport: Pick<Sallyport, 'api'>,
  session: string,
  given: Readonly<Record<string, unknown>>,
): Promise<Row> {
  const digest = argumentsDigest(given)
  const found = (await rowsOf(sallyport, session)).filter(
    (row) => row.argumentsDigest === digest && row.state !== 'refused',
  )
  const [row] = found
  if (!row || found.length > 1) throw new Error(`${found.length} rows for ${JSON.stringify(given)}`)
  return row
}

export function argumentsDigest(given: Readonly<Record<string, unknown>>): string {
  return `sha256:${createHash('sha256').update(JSON.stringify(given)).digest('hex')}`
}

/** Resolves once no row of the session is open. `ms` bounds it. */
export async function untilSettled(
  sallyport: Pick<Sallyport, 'api'>,
  session: string,
  ms: number,
): Promise<Row[]> {
  const isOpen = ({ state }: Row): boolean => state === 'dispatching'
  const look = () => rowsOf(sallyport, session)
  return eventually(look, (rows) => !rows.some(isOpen), ms)
}

/** Resolves once there are so many rows and all were collected, which is recorded just after an answer was written. */
export async function untilCollected(
  sallyport: Pick<Sallyport, 'api'>,
  session: string,
  count: number,
): Promise<Row[]> {
  const look = () => rowsOf(sallyport, session)
  const isCollected = ({ collectedAt }: Row): boolean => collectedAt !== null
  return eventually(look, (rows) => rows.length === count && rows.every(isCollected))
}
