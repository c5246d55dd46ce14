/** A listing is fetched with nothing held: what does not need it goes on meanwhile. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  callByName,
  connectionName,
  type GovernedRun,
  startGovernedRun,
} from '../clients/governed-run.ts'
import { connectUpstream, publishTools } from '../harness/setup-connection.ts'
import { startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'

const slowName = 'slow'

let run: GovernedRun
let slow: Upstream
beforeEach(async () => {
  run = await startGovernedRun({ granted: ['counter_read'] })
  slow = await startUpstream()
  await connectUpstream(run.sallyport, { name: slowName, url: slow.url })
  await publishTools(run.sallyport, { name: slowName, read: ['counter_read'] })
})
afterEach(async () => {
  await run.remove()
  await slow.close()
})

/** The upstream has been asked for its tools and does not answer. In an object, since it is not to be awaited yet. */
async function startHeldDiscovery(): Promise<{ readonly discovery: Promise<unknown> }> {
  const before = slow.count('tools/list')
  slow.misbehave({ kind: 'hang' }, { method: 'tools/list', times: 1 })
  const discovery = run.sallyport
    .api('catalog.discover', { name: slowName })
    .catch((error: unknown) => error)
  await slow.received('tools/list', before + 1)
  return { discovery }
}

test('while a listing is fetched, status, other connections and revocation go on', async () => {
  const { api } = run.sallyport
  const { discovery } = await startHeldDiscovery()
  expect(await api('status.show')).toMatchObject({ worker: { state: 'up' } })
  const guest = await run.openSession()
  expect(await callByName(guest, 'counter_read')).not.toHaveProperty('error')
  const other = await api('connection.disable', { name: connectionName })
  expect(other.state).toBe('disabled')
  const fetched = await api('connection.disable', { name: slowName })
  expect(fetched.state).toBe('disabled')
  slow.answerHeld()
  await discovery
})

test('of two who wait for one listing, one may leave', async () => {
  const { url, adminToken, api } = run.sallyport
  const before = slow.count('tools/list')
  slow.misbehave({ kind: 'hang' }, { method: 'tools/list', times: 1 })
  const leaving = new AbortController()
  const first = fetch(`${url}/api/v1/connections/${slowName}/catalog/discover`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}` },
    signal: leaving.signal,
  })
  await slow.received('tools/list', before + 1)
  const second = api('catalog.discover', { name: slowName })
  leaving.abort()
  await expect(first).rejects.toThrow('aborted')
  slow.answerHeld()
  expect(await second).toMatchObject({ state: 'discovered' })
})

test('a shutdown during a fetch comes to its end, and nothing is published after it', async () => {
  const { api } = run.sallyport
  const published = await api('catalog.show', { name: slowName })
  const { discovery } = await startHeldDiscovery()
  expect(await run.sallyport.stop()).toBe(0)
  expect(await discovery).toBeInstanceOf(Error)
  slow.answerHeld()
  await run.sallyport.restart()
  expect(await api('catalog.show', { name: slowName })).toEqual(published)
})
