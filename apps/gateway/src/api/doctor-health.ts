/** What doctor says of a connection that somebody has to sign in for, before it asks the server. */
import type { ConnectionCondition, RecordedHealth } from '@sallyport/core'
import type { Answer } from '@sallyport/protocol'

type Check = Answer<'doctor.run'>['items'][number]

/** Undefined when the server has to be asked to know. */
export function checkCondition(
  id: string,
  name: string,
  { condition }: ConnectionCondition,
  { oauth }: Pick<RecordedHealth, 'oauth'>,
): Check | undefined {
  const next = `sallyport connection ${oauth ? 'authorize' : 'edit'} ${name}`
  const check = (state: Check['state'], text: string): Check => ({
    ...{ id, state, text },
    who: 'owner',
    next,
  })
  switch (condition) {
    case 'needs_sign_in':
      return check('problem', 'Somebody has to sign in at its authorization server.')
    case 'changed_account':
      return check('problem', 'Its sign-in is of another account than before. Sign in again.')
    case 'revoked':
      return check('problem', 'Its credential was revoked.')
    case 'expiring':
      return check('warning', 'Its sign-in ends within a day, and nothing renews it.')
    default:
      return undefined
  }
}
