import { whatBubblewrapLacks } from '@sallyport/launcher'
import { type Check, fine, warning } from './finding.ts'

/** A machine that only serves others needs no sandboxes of its own. */
export async function checkIsolation(): Promise<Check> {
  const lacking = await whatBubblewrapLacks()
  if (lacking === undefined)
    return fine(
      'isolation',
      'bubblewrap makes sandboxes here; "sallyport sandbox verify" tries one.',
    )
  const next = 'Until then "sallyport run" works with --sandbox none only, which separates nothing.'
  return warning('isolation', lacking, next)
}
