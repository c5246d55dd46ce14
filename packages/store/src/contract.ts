/** What every store does, run on each engine. Behaviours that need two gateways use a second store over the same rows. */
import { afterEach, beforeEach, describe } from 'vitest'
import { announcementsContract, listenersContract } from './contract/announcements-contract.ts'
import {
  approvalRacesContract,
  brokenBarriersContract,
  decisionRacesContract,
} from './contract/approval-races-contract.ts'
import {
  approvalListsContract,
  approvalMovesContract,
  approvalsContract,
} from './contract/approvals-contract.ts'
import { authorityContract, revocationContract } from './contract/authority-contract.ts'
import { bodiesContract, retentionContract } from './contract/bodies-contract.ts'
import {
  callerLimitsContract,
  callerRacesContract,
  callersContract,
  twinsContract,
} from './contract/callers-contract.ts'
import {
  catalogsContract,
  credentialsContract,
  decisionsContract,
  publicationContract,
} from './contract/catalogs-contract.ts'
import {
  connectionChangesContract,
  connectionRacesContract,
  connectionsContract,
  observationsContract,
} from './contract/connections-contract.ts'
import {
  denySetRacesContract,
  denySetsContract,
  sessionDenialsContract,
} from './contract/denials-contract.ts'
import { dispatchContract, identicalDispatchContract } from './contract/dispatch-contract.ts'
import {
  executionListsContract,
  executionsContract,
  insertionContract,
  refusalsContract,
  writeKeyContract,
} from './contract/executions-contract.ts'
import {
  journalCheckpointsContract,
  journalPagesContract,
  journalStreamsContract,
} from './contract/journal-contract.ts'
import { locksContract, writeKeyLocksContract } from './contract/locks-contract.ts'
import {
  oauthClientsContract,
  oauthFlowsContract,
  refreshLeasesContract,
} from './contract/oauth-contract.ts'
import { instancesContract, settingsContract } from './contract/operation-contract.ts'
import {
  attemptsContract,
  executionSequencesContract,
  notesContract,
  outcomeRacesContract,
  outcomesContract,
  ownershipContract,
} from './contract/outcomes-contract.ts'
import { grantsContract, profilesContract } from './contract/profiles-contract.ts'
import { sandboxesContract } from './contract/sandboxes-contract.ts'
import { conditionsContract, servicesContract } from './contract/services-contract.ts'
import {
  bindingsContract,
  sessionMovesContract,
  sessionsContract,
} from './contract/sessions-contract.ts'
import type { GetSubject, Subject } from './contract/subject.ts'
import { jsonContract, numbersContract, textContract } from './contract/text-contract.ts'
import {
  endContract,
  failuresContract,
  timeContract,
  transactionsContract,
} from './contract/transactions-contract.ts'
import { tokensContract, usersContract } from './contract/users-contract.ts'
import {
  sealReplacementContract,
  sealsContract,
  vaultKeysContract,
} from './contract/vault-keys-contract.ts'
import {
  outboxContract,
  webhookRemovalContract,
  webhookSwitchContract,
  webhooksContract,
} from './contract/webhooks-contract.ts'

const parts: readonly (readonly [string, (subject: GetSubject) => void])[] = [
  ['text', textContract],
  ['JSON', jsonContract],
  ['numbers', numbersContract],
  ['users', usersContract],
  ['tokens', tokensContract],
  ['connections', connectionsContract],
  ['changes of connections', connectionChangesContract],
  ['connections at once', connectionRacesContract],
  ['observations', observationsContract],
  ['credentials', credentialsContract],
  ['catalogs', catalogsContract],
  ['publication', publicationContract],
  ['review', decisionsContract],
  ['profiles', profilesContract],
  ['grants', grantsContract],
  ['sessions', sessionsContract],
  ['moves of sessions', sessionMovesContract],
  ['sandboxes', sandboxesContract],
  ['bindings', bindingsContract],
  ['executions', executionsContract],
  ['lists of executions', executionListsContract],
  ['insertion of executions', insertionContract],
  ['refused insertions', refusalsContract],
  ['identical writes', writeKeyContract],
  ['outcomes', outcomesContract],
  ['sequences of executions', executionSequencesContract],
  ['outcomes at once', outcomeRacesContract],
  ['notes and rates', notesContract],
  ['ownership', ownershipContract],
  ['attempts', attemptsContract],
  ['locks of executions', locksContract],
  ['locks of write keys', writeKeyLocksContract],
  ['dispatch', dispatchContract],
  ['dispatch of identical writes', identicalDispatchContract],
  ['callers', callersContract],
  ['limits of callers', callerLimitsContract],
  ['callers at once', callerRacesContract],
  ['twins', twinsContract],
  ['approvals', approvalsContract],
  ['lists of approvals', approvalListsContract],
  ['moves of approvals', approvalMovesContract],
  ['approvals at once', approvalRacesContract],
  ['decisions at once', decisionRacesContract],
  ['broken barriers', brokenBarriersContract],
  ['bodies', bodiesContract],
  ['retention', retentionContract],
  ['pages of the journal', journalPagesContract],
  ['streams of the journal', journalStreamsContract],
  ['checkpoints', journalCheckpointsContract],
  ['instances', instancesContract],
  ['settings', settingsContract],
  ['keys of the vault', vaultKeysContract],
  ['seals', sealsContract],
  ['replacement of seals', sealReplacementContract],
  ['connections and clients of OAuth', oauthClientsContract],
  ['sign-ins', oauthFlowsContract],
  ['leases on refreshing', refreshLeasesContract],
  ['services', servicesContract],
  ['told conditions', conditionsContract],
  ['deny sets', denySetsContract],
  ['deny sets at once', denySetRacesContract],
  ['denials of sessions', sessionDenialsContract],
  ['webhooks', webhooksContract],
  ['removal of webhooks', webhookRemovalContract],
  ['webhooks that are off', webhookSwitchContract],
  ['outbox', outboxContract],
  ['announcements', announcementsContract],
  ['listeners', listenersContract],
  ['transactions', transactionsContract],
  ['failures', failuresContract],
  ['time', timeContract],
  ['authority', authorityContract],
  ['revocation', revocationContract],
  ['the end', endContract],
]

/** `open` gives an empty store each time, and takes it away again in `close`. */
export function storeContract(name: string, open: () => Promise<Subject>): void {
  describe(name, () => {
    let subject: Subject
    beforeEach(async () => {
      subject = await open()
    })
    afterEach(() => subject.close())
    for (const [part, contract] of parts) describe(part, () => contract(() => subject))
  })
}
