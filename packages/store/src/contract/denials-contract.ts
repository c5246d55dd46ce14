import type { SessionDenial, Store, StoredDenySet } from '@sallyport/core'
import { expect, test } from 'vitest'
import { exampleSession, newId, start } from './examples.ts'
import type { GetSubject } from './subject.ts'

function exampleSet(revision: number, given: Partial<StoredDenySet> = {}): StoredDenySet {
  return {
    revision,
    digest: `sha256:${revision}`,
    entries: [
      { host: 'mcp.example.com', port: 443 },
      { host: '*.corp.example', port: null },
    ],
    state: 'staged',
    stagedAt: start,
    publishedAt: null,
    ...given,
  }
}

function exampleDenial(given: Partial<SessionDenial> = {}): SessionDenial {
  return {
    sessionId: newId('session'),
    keeper: 'owner',
    since: 1,
    confirmed: null,
    confirmedAt: null,
    ...given,
  }
}

const insertSets = (store: Store, ...sets: StoredDenySet[]) =>
  store.transact(async (tx) => {
    const results: boolean[] = []
    for (const set of sets) results.push(await tx.denials.insertSet(set))
    return results
  })

export function denySetsContract(subject: GetSubject): void {
  test('gives back sets by their revision, and takes each revision once', async () => {
    const { store } = subject()
    expect(await store.denials.newest()).toBeUndefined()
    expect(await store.denials.published()).toBeUndefined()
    const sets = [
      exampleSet(1, { state: 'superseded', publishedAt: start }),
      exampleSet(2, { state: 'published', publishedAt: start + 1 }),
      exampleSet(10, { entries: [] }),
    ]
    expect(await insertSets(store, ...sets, exampleSet(2))).toEqual([true, true, true, false])
    expect(await store.denials.newest()).toEqual(sets[2])
    expect(await store.denials.published()).toEqual(sets[1])
    expect(await store.denials.since(2)).toEqual(sets.slice(1))
    expect(await store.denials.since(11)).toEqual([])
  })

  test('moves a set from the state it is in, and from no other', async () => {
    const { store } = subject()
    await insertSets(store, exampleSet(1))
    const publish = () =>
      store.transact((tx) => tx.denials.moveSet(1, 'staged', 'published', start + 5))
    expect(await publish()).toBe(true)
    expect(await publish()).toBe(false)
    expect(await store.denials.newest()).toEqual(
      exampleSet(1, { state: 'published', publishedAt: start + 5 }),
    )
  })

  test('drops what is over, unless a session that has not ended is denied it', async () => {
    const { store } = subject()
    const session = exampleSession({ state: 'closing' })
    const ended = exampleSession({ state: 'ended' })
    await insertSets(
      store,
      exampleSet(1, { state: 'superseded' }),
      exampleSet(2, { state: 'withdrawn' }),
      exampleSet(3, { state: 'superseded' }),
      exampleSet(4, { state: 'published' }),
    )
    await store.transact(async (tx) => {
      for (const one of [session, ended]) await tx.sessions.insert(one)
      await tx.denials.insertDenial(exampleDenial({ sessionId: session.id, since: 3 }))
      await tx.denials.insertDenial(exampleDenial({ sessionId: ended.id, since: 1 }))
      await tx.denials.dropSets(2)
    })
    const revisions = async () => (await store.denials.since(0)).map(({ revision }) => revision)
    expect(await revisions()).toEqual([2, 3, 4])
    await store.transact((tx) => tx.denials.dropSets(9))
    expect(await revisions()).toEqual([3, 4])
    await store.transact((tx) => tx.sessions.move(session.id, ['closing'], 'ended', {}))
    await store.transact((tx) => tx.denials.dropSets(9))
    expect(await revisions()).toEqual([4])
  })
}

export function denySetRacesContract(subject: GetSubject): void {
  test('of two gateways that stage at once, one does', async () => {
    const { store, rival } = subject()
    for (let revision = 1; revision <= 10; revision++) {
      const staged = await Promise.all(
        [store, rival].map((one) => insertSets(one, exampleSet(revision))),
      )
      expect(staged.flat().toSorted()).toEqual([false, true])
    }
  })

  test('keeps one row for a source, the newest', async () => {
    const { store } = subject()
    const [own, operator] = [
      { source: 'ins_1', entries: [{ host: '127.0.0.1', port: 7400 }], at: start },
      { source: 'operator', entries: [], at: start },
    ]
    await store.transact(async (tx) => {
      for (const one of [operator, { ...own, entries: [] }, own]) await tx.denials.putSource(one)
    })
    expect(await store.denials.sources()).toEqual([own, operator])
    await store.transact((tx) => tx.denials.dropSource('ins_1'))
    expect(await store.denials.sources()).toEqual([operator])
  })
}

export function sessionDenialsContract(subject: GetSubject): void {
  test('remembers what was confirmed, and never an earlier one again', async () => {
    const { store } = subject()
    const denial = exampleDenial()
    await store.transact((tx) => tx.denials.insertDenial(denial))
    expect(await store.denials.ofSession(denial.sessionId)).toEqual(denial)
    expect(await store.denials.ofSession(newId('session'))).toBeUndefined()
    const confirm = (given: Partial<SessionDenial>) =>
      store.transact((tx) => tx.denials.confirm({ ...denial, ...given }))
    expect(await confirm({ keeper: 'word', confirmed: 3, confirmedAt: start, since: 9 })).toBe(true)
    expect(await confirm({ confirmed: 2, confirmedAt: start + 1 })).toBe(false)
    expect(await store.denials.ofSession(denial.sessionId)).toEqual({
      ...denial,
      ...{ keeper: 'word', confirmed: 3, confirmedAt: start },
    })
    expect(await confirm({ sessionId: newId('session'), confirmed: 9 })).toBe(false)
    await expect(store.transact((tx) => tx.denials.insertDenial(denial))).rejects.toThrow(TypeError)
  })

  test('lists those of open sessions that somebody keeps and has not confirmed', async () => {
    const { store } = subject()
    const cases = [
      { state: 'open', keeper: 'owner', confirmed: null },
      { state: 'open', keeper: 'word', confirmed: 1 },
      { state: 'open', keeper: 'owner', confirmed: 2 },
      { state: 'open', keeper: 'nobody', confirmed: null },
      { state: 'verifying', keeper: 'owner', confirmed: null },
      { state: 'ended', keeper: 'owner', confirmed: null },
    ] as const
    const denials: SessionDenial[] = []
    await store.transact(async (tx) => {
      for (const { state, ...denial } of cases) {
        const session = exampleSession({ state })
        await tx.sessions.insert(session)
        denials.push(exampleDenial({ sessionId: session.id, ...denial }))
        await tx.denials.insertDenial(denials.at(-1) as SessionDenial)
      }
    })
    expect(await store.denials.unconfirmed(2)).toEqual(denials.slice(0, 2))
    expect(await store.denials.unconfirmed(1)).toEqual(denials.slice(0, 1))
  })

  test('holds everybody else who publishes or opens until it ends', async () => {
    const { store, rival } = subject()
    const order: string[] = []
    const work = (one: Store, name: string) =>
      one.transact(async (tx) => {
        await tx.denials.hold()
        order.push(`${name} begins`)
        await tx.denials.newest()
        await tx.denials.putSource({ source: name, entries: [], at: start })
        order.push(`${name} ends`)
      })
    await Promise.all([work(store, 'a'), work(rival, 'b'), work(store, 'c')])
    for (let at = 0; at < order.length; at += 2)
      expect(order[at + 1]).toBe(order[at]?.replace('begins', 'ends'))
  })
}
