/** Ways to break the path of a write, each with the law that must then be found broken. */
import type { Authority, CallDesk, Store, WorkerPort } from '@sallyport/core'
import type { RecoveredHead, RecoverHead } from '@sallyport/protocol/node'
import type { OrderBook, OrderSource } from '../../../apps/worker/src/orders/order-book.ts'
import { approvalSabotages } from './approval-sabotages.ts'
import { changed, changedTransactions } from './changed.ts'
import type { GatewayParts } from './gateway.ts'
import type { ScenarioName } from './scenarios.ts'
import type { Orders, Worker, WorkerParts } from './worker.ts'

export interface Sabotage {
  readonly name: string
  readonly laws: readonly string[]
  /** Identical writes at two gateways, and an administrator who may revoke, when absent. */
  readonly scenario?: ScenarioName
  readonly gateway?: Partial<GatewayParts>
  readonly worker?: Partial<WorkerParts>
}

type Answers = (worker: Worker, id: string) => RecoveredHead['state'] | undefined

/** Answers some questions by itself, without asking the order book. */
function answering(answers: Answers): NonNullable<WorkerParts['orders']> {
  return (orders: OrderBook, worker: Worker): Orders =>
    changed<Orders>(orders, {
      recover: (source: OrderSource, { intents }: RecoverHead) => {
        for (const question of intents) {
          const state = answers(worker, question.id)
          const { instance } = worker
          if (state) source.send('recovered', { intent: question.id, instance, state })
          else orders.recover(source, { intents: [question] })
        }
      },
    })
}

/** Sends and at once commits. */
const hasty = (port: WorkerPort): WorkerPort =>
  changed(port, {
    send: (orders) => {
      port.send(orders).commit(orders.map((_, position) => position))
      return { commit: () => {}, abort: () => {} }
    },
  })

const hopeful = (desk: CallDesk): CallDesk =>
  changed(desk, {
    onRecovered: (row, outcome, ...rest) =>
      desk.onRecovered(
        row,
        outcome.state === 'not_sent' ? { state: 'succeeded', code: null } : outcome,
        ...rest,
      ),
  })

/** What it has read of authority once it believes for ever. */
function remembering(store: Store): Store {
  let known: Authority | undefined
  return changedTransactions(store, (tx) =>
    changed(tx, {
      lockAuthority: async (refs) => {
        const now = await tx.lockAuthority(refs)
        known ??= now
        return { ...known, now: now.now }
      },
    }),
  )
}

const keyless = (store: Store): Store =>
  changedTransactions(store, (tx) =>
    changed(tx, {
      executions: changed(tx.executions, {
        insert: (rows) => tx.executions.insert(rows.map((row) => ({ ...row, writeKey: null }))),
      }),
    }),
  )

const blind = (store: Store): Store =>
  changed(store, { executions: changed(store.executions, { dispatchingOf: async () => [] }) })

const forgetful = (store: Store): Store =>
  changedTransactions(store, (tx) =>
    changed(tx, {
      journal: changed(tx.journal, {
        append: async (page) => {
          if (page.first === 1) await tx.journal.append(page)
        },
      }),
    }),
  )

export const sabotages: readonly Sabotage[] = [
  {
    name: 'a question that is no fence',
    laws: ['applied_only_while_dispatching', 'not_sent_was_not_applied'],
    worker: { orders: answering(({ sent }, id) => (sent.has(id) ? undefined : 'never_started')) },
  },
  {
    name: 'a worker that forgets what it sent',
    laws: ['not_sent_was_not_applied'],
    worker: { orders: answering(({ sent }, id) => (sent.has(id) ? 'never_started' : undefined)) },
  },
  {
    name: 'a worker that takes an abort for a commit',
    laws: ['applied_only_while_dispatching'],
    worker: {
      orders: (orders) =>
        changed<Orders>(orders, {
          aborted: (source, { batch }) => orders.committed(source, { batch, admitted: [0, 1, 2] }),
        }),
    },
  },
  {
    name: 'a worker that sends again when it was cut off',
    laws: ['applied_at_most_once'],
    worker: { attempts: 2 },
  },
  {
    name: 'a worker for which intents have no end',
    laws: ['applied_only_while_dispatching'],
    worker: { now: (now) => () => Math.min(now(), 1_000_000) },
  },
  {
    name: 'a desk that takes never_started for success',
    laws: ['succeeded_was_applied'],
    gateway: { deskOfRecovery: hopeful },
  },
  {
    name: 'a barrier that sends before it commits',
    laws: ['applied_only_while_dispatching'],
    gateway: { worker: hasty },
  },
  {
    name: 'a barrier that believes authority it has read before',
    laws: ['no_barrier_after_revocation'],
    gateway: { store: remembering },
  },
  {
    name: 'writes without a key',
    laws: ['done_once_for_each_wish', 'nothing_sent_beside_an_unknown'],
    gateway: { store: keyless },
  },
  {
    name: 'a recovery without patience',
    laws: ['applied_only_while_dispatching', 'told_answer_is_there'],
    gateway: { timeOfRecovery: (now) => () => now() + 60_000 },
  },
  {
    name: 'nobody who takes over what a gateway has left',
    laws: ['nothing_stays_dispatching'],
    gateway: { adopts: false },
  },
  {
    name: 'nobody who looks after an unclear commit',
    laws: ['nothing_stays_dispatching'],
    gateway: { suspects: false, store: blind },
  },
  {
    name: 'a store that loses pages of the journal',
    laws: ['journal_verifies'],
    gateway: { store: forgetful },
  },
  ...approvalSabotages,
]
