/** What every store does, run on each engine. Behaviours that need two gateways use a second store over the same rows. */
import { afterEach, beforeEach, describe } from 'vitest'
import { authorityContract, revocationContract } from './contract/authority-contract.ts'
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
import { instancesContract, settingsContract } from './contract/operation-contract.ts'
import {
  executionSequencesContract,
  notesContract,
  outcomeRacesContract,
  outcomesContract,
  ownershipContract,
} from './contract/outcomes-contract.ts'
import { grantsContract, profilesContract } from './contract/profiles-contract.ts'
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
  ['pages of the journal', journalPagesContract],
  ['streams of the journal', journalStreamsContract],
  ['checkpoints', journalCheckpointsContract],
  ['instances', instancesContract],
  ['settings', settingsContract],
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
