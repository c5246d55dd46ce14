import { type DenySet, SallyportError } from '@sallyport/protocol'
import { denySetDigest } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
import { KeptDenials } from './kept-denials.ts'

const setOf = (revision: number, ...hosts: string[]): DenySet => {
  const entries = hosts.map((host) => ({ host, port: 443 }))
  return { revision, digest: denySetDigest(revision, entries), entries }
}
const word = ({ revision, digest }: DenySet) => ({ revision, digest })

/** `newest`: what the gateway denies. Everything that happens, in order. */
function keeping(first: DenySet, { hasWalls = true } = {}) {
  const did: string[] = []
  const gateway = { newest: first, refuses: 0 }
  const said = async (what: string, denySet: { revision: number; digest: string }) => {
    did.push(`${what} ${denySet.revision}`)
    if (gateway.refuses-- > 0) throw new SallyportError('deny_set_mismatch')
    if (denySet.digest !== gateway.newest.digest) throw new SallyportError('deny_set_mismatch')
  }
  const kept = new KeptDenials({
    port: {
      denySet: async () => gateway.newest as never,
      confirm: async (_, body) => (await said('confirm', body)) as never,
    },
    ...{ session: 'ses_1', ownerKey: 'k', first, hasWalls },
    deny: async ({ revision }) => void did.push(`deny ${revision}`),
  })
  return { kept, gateway, did, show: () => kept.say((denySet) => said('show', denySet)) }
}

test('what is denied at the beginning is in force before anything is shown', async () => {
  const { kept, did, show } = keeping(setOf(3, 'a.example'))
  await kept.begin()
  await show()
  expect(did).toEqual(['deny 3', 'show 3'])
})

test('what is denied later is in force before it is confirmed, once', async () => {
  const { kept, gateway, did } = keeping(setOf(3))
  await kept.begin()
  await kept.hear(3)
  expect(did).toEqual(['deny 3'])
  gateway.newest = setOf(4, 'b.example')
  await kept.hear(4)
  await kept.hear(4)
  expect(did).toEqual(['deny 3', 'deny 4', 'confirm 4'])
})

test('when it moves meanwhile, the newest is enforced and told', async () => {
  const { kept, gateway, did, show } = keeping(setOf(3))
  await kept.begin()
  gateway.newest = setOf(5, 'c.example')
  await show()
  expect(did).toEqual(['deny 3', 'show 3', 'deny 5', 'show 5'])
})

test('what is heard before it has begun is left to what is shown', async () => {
  const { kept, gateway, did, show } = keeping(setOf(3))
  gateway.newest = setOf(4)
  await kept.hear(4)
  expect(did).toEqual([])
  await kept.begin()
  await show()
  expect(did).toEqual(['deny 3', 'show 3', 'deny 4', 'show 4'])
})

test('a set that is not the one its digest names is neither enforced nor confirmed', async () => {
  const { kept, gateway, did } = keeping(setOf(3))
  await kept.begin()
  gateway.newest = { ...setOf(4, 'b.example'), entries: [] }
  await expect(kept.hear(4)).rejects.toMatchObject({ code: 'deny_set_mismatch' })
  expect(did).toEqual(['deny 3'])
})

test('it does not try for ever, and other refusals end it at once', async () => {
  const { kept, gateway, did, show } = keeping(setOf(3))
  await kept.begin()
  gateway.refuses = 99
  await expect(show()).rejects.toMatchObject({ code: 'deny_set_mismatch' })
  expect(did.filter((one) => one.startsWith('show'))).toHaveLength(5)
  const ended = kept.say(() => Promise.reject(new SallyportError('session_ended')))
  await expect(ended).rejects.toMatchObject({ code: 'session_ended' })
})

test('without walls nothing is enforced and nothing confirmed', async () => {
  const { kept, gateway, did } = keeping(setOf(3), { hasWalls: false })
  await kept.begin()
  gateway.newest = setOf(4)
  await kept.hear(4)
  expect(did).toEqual([])
  const told: unknown[] = []
  await kept.say(async (denySet) => told.push(denySet))
  expect(told).toEqual([word(setOf(3))])
})
