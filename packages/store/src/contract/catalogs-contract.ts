import { expect, test } from 'vitest'
import { exampleCatalog, exampleCredential, exampleTool, newId, start } from './examples.ts'
import type { GetSubject } from './subject.ts'

export function credentialsContract(subject: GetSubject): void {
  test('gives back a credential, and refuses an id that is in use', async () => {
    const { store } = subject()
    const credential = exampleCredential()
    expect(await store.transact((tx) => tx.credentials.insert(credential))).toBe(true)
    expect(await store.transact((tx) => tx.credentials.insert(credential))).toBe(false)
    expect(await store.credentials.get(credential.id)).toEqual(credential)
    expect(await store.credentials.get(newId('credential'))).toBeUndefined()
  })

  test('replaces a credential at the expected version, under the same or a higher one', async () => {
    const { store } = subject()
    const before = exampleCredential({ version: 3 })
    await store.transact((tx) => tx.credentials.insert(before))
    const update = (given: Partial<typeof before>, expected: number) =>
      store.transact((tx) => tx.credentials.update({ ...before, ...given }, expected))
    expect(await update({ state: 'broken' }, 3)).toBe(true)
    expect(await update({ version: 4, seal: 'next' }, 3)).toBe(true)
    expect(await update({ version: 5 }, 3)).toBe(false)
    expect(await update({ id: newId('credential'), version: 5 }, 4)).toBe(false)
    await expect(update({ version: 3 }, 4)).rejects.toThrow(TypeError)
    const after = await store.credentials.get(before.id)
    expect(after).toEqual({ ...before, version: 4, seal: 'next' })
  })

  test('lets one of two refreshes from one version win', async () => {
    const { store, rival } = subject()
    const before = exampleCredential()
    await store.transact((tx) => tx.credentials.insert(before))
    const results = await Promise.all(
      [store, rival].map((each, i) =>
        each.transact((tx) =>
          tx.credentials.update({ ...before, version: 2, seal: `seal ${i}` }, 1),
        ),
      ),
    )
    expect(results.toSorted()).toEqual([false, true])
    const { seal } = (await store.credentials.get(before.id)) ?? {}
    expect(seal).toBe(`seal ${results.indexOf(true)}`)
  })
}

export function catalogsContract(subject: GetSubject): void {
  test('gives back a catalog and its tools by name', async () => {
    const { store } = subject()
    const catalog = exampleCatalog({ reviewedBy: newId('user') })
    const [b, a] = [exampleTool({ name: 'b' }), exampleTool({ name: 'a', note: 'seen' })]
    await store.transact((tx) => tx.catalogs.insert(catalog, [b, a]))
    expect(await store.catalogs.get(catalog.id)).toEqual(catalog)
    expect(await store.catalogs.tools(catalog.id)).toEqual([a, b])
    expect(await store.catalogs.tool(catalog.id, 'b')).toEqual(b)
    expect(await store.catalogs.tool(catalog.id, 'B')).toBeUndefined()
    expect(await store.catalogs.tools(newId('catalog'))).toEqual([])
    expect(await store.catalogs.get(newId('catalog'))).toBeUndefined()
  })

  test('keeps a catalog without tools, and one with two thousand', async () => {
    const { store } = subject()
    const [none, many] = [exampleCatalog(), exampleCatalog()]
    const tools = Array.from({ length: 2000 }, () => exampleTool())
    await store.transact(async (tx) => {
      await tx.catalogs.insert(none, [])
      await tx.catalogs.insert(many, tools)
    })
    expect(await store.catalogs.tools(none.id)).toEqual([])
    expect(await store.catalogs.tools(many.id)).toHaveLength(2000)
  })

  test('lists the catalogs of a connection newest first', async () => {
    const { store } = subject()
    const first = exampleCatalog()
    const second = exampleCatalog({ connectionId: first.connectionId })
    await store.transact(async (tx) => {
      await tx.catalogs.insert(second, [])
      await tx.catalogs.insert(exampleCatalog(), [])
      await tx.catalogs.insert(first, [exampleTool()])
    })
    expect(await store.catalogs.ofConnection(first.connectionId)).toEqual([second, first])
    expect(await store.catalogs.ofConnection(newId('connection'))).toEqual([])
  })

  test('replaces a catalog whose version has not moved', async () => {
    const { store } = subject()
    const before = exampleCatalog()
    await store.transact((tx) => tx.catalogs.insert(before, [exampleTool()]))
    const update = (given: Partial<typeof before>, expected: number) =>
      store.transact((tx) => tx.catalogs.update({ ...before, ...given }, expected))
    expect(await update({ state: 'in_review', version: 2 }, 1)).toBe(true)
    expect(await update({ state: 'discarded', version: 3 }, 1)).toBe(false)
    expect(await update({ id: newId('catalog'), version: 3 }, 2)).toBe(false)
    await expect(update({ version: 2 }, 2)).rejects.toThrow(TypeError)
    const after = await store.catalogs.get(before.id)
    expect(after).toEqual({ ...before, state: 'in_review', version: 2 })
    expect(await store.catalogs.tools(before.id)).toHaveLength(1)
  })
}

export function publicationContract(subject: GetSubject): void {
  test('refuses a second catalog of a connection with the same number', async () => {
    const { store } = subject()
    const first = exampleCatalog()
    const second = exampleCatalog({ connectionId: first.connectionId })
    const elsewhere = exampleCatalog()
    const results = await store.transact(async (tx) => {
      const results: boolean[] = []
      for (const catalog of [first, second, elsewhere]) {
        await tx.catalogs.insert(catalog, [])
        results.push(await tx.catalogs.update({ ...catalog, number: 1, version: 2 }, 1))
      }
      results.push(await tx.catalogs.update({ ...second, number: 2, version: 2 }, 1))
      return results
    })
    expect(results).toEqual([true, false, true, true])
  })

  test('lets one of two publishers have the number', async () => {
    const { store, rival } = subject()
    const first = exampleCatalog()
    const second = exampleCatalog({ connectionId: first.connectionId })
    await store.transact(async (tx) => {
      await tx.catalogs.insert(first, [])
      await tx.catalogs.insert(second, [])
    })
    const publish = (catalog: typeof first, by: typeof store) =>
      by.transact((tx) =>
        tx.catalogs.update({ ...catalog, state: 'published', number: 1, version: 2 }, 1),
      )
    const results = await Promise.all([publish(first, store), publish(second, rival)])
    expect(results.toSorted()).toEqual([false, true])
    const catalogs = await store.catalogs.ofConnection(first.connectionId)
    expect(catalogs.filter(({ state }) => state === 'published')).toHaveLength(1)
  })
}

export function decisionsContract(subject: GetSubject): void {
  test('changes access, decision and note of a draft and nothing else', async () => {
    const { store } = subject()
    const catalog = exampleCatalog({ state: 'in_review' })
    const [changed, kept] = [exampleTool({ name: 'a' }), exampleTool({ name: 'b' })]
    const decision = { access: 'read', decision: 'include', note: 'nul \0' } as const
    await store.transact(async (tx) => {
      await tx.catalogs.insert(catalog, [changed, kept])
      await tx.catalogs.decide(
        catalog.id,
        ['discovered', 'in_review'],
        [{ name: 'a', ...decision }],
      )
    })
    expect(await store.catalogs.tools(catalog.id)).toEqual([{ ...changed, ...decision }, kept])
  })

  test('never edits what was published', async () => {
    const { store } = subject()
    const catalog = exampleCatalog({ state: 'published', number: 1, publishedAt: start })
    const tool = exampleTool({ name: 'a' })
    await store.transact((tx) => tx.catalogs.insert(catalog, [tool]))
    const decide = (id: typeof catalog.id) =>
      store.transact((tx) =>
        tx.catalogs.decide(
          id,
          ['discovered', 'in_review'],
          [{ name: 'a', access: 'read', decision: 'include', note: null }],
        ),
      )
    await expect(decide(catalog.id)).rejects.toMatchObject({ code: 'conflict' })
    await expect(decide(newId('catalog'))).rejects.toMatchObject({ code: 'conflict' })
    expect(await store.catalogs.tools(catalog.id)).toEqual([tool])
  })

  test('refuses a decision about a tool that the catalog does not have', async () => {
    const { store } = subject()
    const catalog = exampleCatalog()
    await store.transact((tx) => tx.catalogs.insert(catalog, [exampleTool({ name: 'a' })]))
    const decision = { access: 'read', decision: 'include', note: null } as const
    const decide = store.transact((tx) =>
      tx.catalogs.decide(
        catalog.id,
        ['discovered'],
        [
          { name: 'a', ...decision },
          { name: 'A', ...decision },
        ],
      ),
    )
    await expect(decide).rejects.toThrow(TypeError)
    expect((await store.catalogs.tool(catalog.id, 'a'))?.decision).toBe('exclude')
  })
}
