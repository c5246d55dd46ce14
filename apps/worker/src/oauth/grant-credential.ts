/** Puts a grant into the seal of the credential it becomes, with where it may go. */
import type { Origin } from '@sallyport/protocol'
import type {
  AccountFinding,
  CredentialSecret,
  OAuthBundle,
  OAuthGranted,
  OAuthServer,
} from '@sallyport/protocol/node'
import { clearOfBundle } from '../vault/read-oauth.ts'
import { compareAccounts } from './account.ts'
import { defined } from './defined.ts'
import type { PresentCredential, Step } from './step.ts'

export interface NewGrant {
  readonly accessToken: string
  readonly bundle: OAuthBundle
  readonly places: readonly Origin[]
  readonly server?: OAuthServer
}

export type GrantRow = Pick<OAuthGranted, 'account' | 'credentialId' | 'credentialVersion'>

/** The next version of the present credential only where it is proved to be of the same account. */
export function rowFor(
  present: PresentCredential | undefined,
  bundle: OAuthBundle,
  freshCredentialId: string,
): GrantRow {
  const account = findingOf(present, bundle)
  if (present && account === 'same')
    return { account, credentialId: present.id, credentialVersion: present.version + 1 }
  return { account, credentialId: freshCredentialId, credentialVersion: 1 }
}

export function sealGrant(
  { vault, intent, endpoint, present }: Pick<Step, 'vault' | 'intent' | 'endpoint' | 'present'>,
  { accessToken, bundle, places, server }: NewGrant,
  row: GrantRow,
): OAuthGranted {
  // What a person typed beside the sign-in goes on being sent.
  const headers = present?.secret.headers ?? []
  const secret: CredentialSecret = {
    token: accessToken,
    headers,
    destinations: [endpoint.destination],
    oauth: bundle,
  }
  const { credentialId: id, credentialVersion: version } = row
  const place = { kind: 'credential', id, scope: intent.scope, version } as const
  return {
    kind: 'granted',
    ...row,
    seal: vault.seal(secret, place),
    clear: {
      bearer: true,
      headerNames: headers.map(({ name }) => name),
      oauth: clearOfBundle(bundle),
    },
    places,
    ...defined({ server }),
  }
}

function findingOf(present: PresentCredential | undefined, bundle: OAuthBundle): AccountFinding {
  if (!present) return 'first'
  const before = present.secret.oauth
  if (!before) return 'unproved'
  // An account is one of its issuer.
  if (before.issuer !== bundle.issuer || before.grant !== bundle.grant) return 'other'
  if (bundle.grant === 'client_credentials')
    return before.client.clientId === bundle.client.clientId ? 'same' : 'other'
  return compareAccounts(before.account, bundle.account)
}
