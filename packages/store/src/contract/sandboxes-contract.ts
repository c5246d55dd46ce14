import type { SessionSandbox, Store } from '@sallyport/core'
import { type SandboxEvidence, sessionStates } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import { exampleSession, newId, start } from './examples.ts'
import { exampleEvidence, exampleSandbox } from './sandbox-examples.ts'
import type { GetSubject } from './subject.ts'

const insert = (store: Store, ...rows: SessionSandbox[]) =>
  store.transact(async (tx) => {
    for (const row of rows) await tx.sandboxes.insert(row)
  })

export function sandboxesContract(subject: GetSubject): void {
  test('gives back the sandbox of a session, once', async () => {
    const { store } = subject()
    const sandbox = exampleSandbox()
    await insert(store, sandbox)
    expect(await store.sandboxes.get(sandbox.sessionId)).toEqual(sandbox)
    expect(await store.sandboxes.get(newId('session'))).toBeUndefined()
    await expect(insert(store, exampleSandbox(sandbox))).rejects.toThrow(TypeError)
  })

  test('remembers what was shown of it, and when that matched', async () => {
    const { store } = subject()
    const [sandbox, other] = [exampleSandbox(), exampleSandbox()]
    await insert(store, sandbox, other)
    const id = sandbox.sessionId
    const show = (evidence: SandboxEvidence, provedAt: number | null) =>
      store.transact((tx) => tx.sandboxes.show(id, evidence, provedAt))
    await show(exampleEvidence(), null)
    const shown = { ...sandbox, evidence: exampleEvidence() }
    expect(await store.sandboxes.get(id)).toEqual(shown)
    await show(exampleEvidence(), start + 5)
    expect(await store.sandboxes.get(id)).toEqual({ ...shown, provedAt: start + 5 })
    expect(await store.sandboxes.get(other.sessionId)).toEqual(other)
  })

  test('remembers when its owner was last heard of, never back in time', async () => {
    const { store } = subject()
    const sandbox = exampleSandbox()
    await insert(store, sandbox)
    for (const at of [start + 9, start + 4])
      await store.transact((tx) => tx.sandboxes.see(sandbox.sessionId, at))
    expect((await store.sandboxes.get(sandbox.sessionId))?.seenAt).toBe(start + 9)
  })

  test('lists those of sessions that have not ended and are not ending', async () => {
    const { store } = subject()
    const sessions = sessionStates.map((state) => exampleSession({ state }))
    const rows = sessions.map(({ id }) => exampleSandbox({ sessionId: id }))
    await store.transact(async (tx) => {
      for (const session of sessions) await tx.sessions.insert(session)
    })
    await insert(store, ...rows.toReversed())
    expect(await store.sandboxes.living()).toEqual(rows.slice(0, 3))
  })
}
