/** The deny set through whole programs: a change that the gateway is killed in the middle of, and who has to confirm it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { apiAt } from '../harness/call-api.ts'
import { connectUpstream, publishTools } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { type CountedUpstream, startCountedUpstream } from './counted-upstream.ts'
import { eventually } from './eventually.ts'

let sallyport: Sallyport
let upstream: CountedUpstream
beforeAll(async () => {
  ;[sallyport, upstream] = await Promise.all([startSallyport(), startCountedUpstream()])
  await sallyport.api('profile.create', {}, { name: 'p' })
})
afterAll(async () => {
  await sallyport?.remove()
  await upstream?.close()
})

const portOf = (url: string) => Number(new URL(url).port)
const set = () => sallyport.api('denySet.show')
const inForce = async () => {
  const { revision, digest, inForce } = await set()
  return { revision, digest, isInForce: inForce === revision }
}

test('our own listeners are denied before anything else is', async () => {
  const found = await eventually(
    set,
    ({ revision, inForce }) => revision > 0 && revision === inForce,
  )
  for (const url of [sallyport.url, sallyport.guestUrl])
    expect(found.entries).toContainEqual({ host: '127.0.0.1', port: portOf(url) })
})

test('a gateway that is killed while a change waits leaves the old set in force, and the change goes on after it', async () => {
  const { api } = sallyport
  const { isInForce, ...word } = await inForce()
  expect(isInForce).toBe(true)
  const session = await api('session.create', {}, { profile: 'p', denySet: word })
  const spec = { name: 'counter', url: upstream.url, read: ['look'] }
  await connectUpstream(sallyport, spec)
  const cut = apiAt(
    () => sallyport.url,
    () => sallyport.adminToken,
  )
  await expect(
    Promise.all([
      publishTools({ ...sallyport, api: cut }, spec),
      eventually(
        async () => (await cut('connection.show', { name: 'counter' })).published,
        (published) => published !== null,
      ).then(() => sallyport.kill()),
    ]),
  ).rejects.toThrow()
  const { url, guestUrl } = sallyport
  const args = ['--port', `${portOf(url)}`, '--guest-port', `${portOf(guestUrl)}`]
  await sallyport.restart({ args })
  const found = await eventually(set, ({ revision }) => revision === word.revision + 1)
  expect(found.inForce).toBe(word.revision)
  expect((await api('connection.show', { name: 'counter' })).state).not.toBe('enabled')
  const next = await api('session.denySet', { id: session.id })
  expect(next.entries).toContainEqual({ host: '127.0.0.1', port: portOf(upstream.url) })
  const said = { revision: next.revision, digest: next.digest }
  await api('session.confirmDenySet', { id: session.id }, said)
  expect(await api('connection.enable', { name: 'counter' })).toMatchObject({ state: 'enabled' })
  expect(await set()).toMatchObject({ revision: next.revision, inForce: next.revision })
  expect((await api('session.show', { id: session.id })).denySet).toMatchObject({
    directAccess: 'denied',
  })
})
