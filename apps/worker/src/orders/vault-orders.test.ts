/** Orders about the keys of the vault, over the link. */
import {
  digestBytes,
  openSeal,
  type SealPlace,
  seal,
  type VaultState,
} from '@sallyport/protocol/node'
import { afterEach, expect, test } from 'vitest'
import { startUpstream } from '../../../../tests/upstreams/scripted-upstream.ts'
import { Bench } from '../testing/bench.ts'
import { MemorySource } from '../testing/memory-source.ts'
import { type ScriptedGateway, sealForTest } from '../testing/scripted-gateway.ts'
import { createVaultKey } from '../testing/worker-under-test.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

async function start(era: 'modern' | 'legacy' = 'modern') {
  const upstream = await startUpstream({ bearer: 'token-1234567890', era })
  const source = new MemorySource(createVaultKey())
  const ring = source.ring()
  const bench = await Bench.start({ url: upstream.url, token: 'token-1234567890' }, { ring })
  open.push(upstream, { close: () => bench.stop() })
  await bench.review()
  return { upstream, source, ring, bench, gateway: bench.gateway }
}

const stateOf = ({ raw }: { readonly raw: Buffer }): VaultState => JSON.parse(raw.toString())
const place: SealPlace = { kind: 'credential', id: 'crd_1', scope: 'org', version: 2 }

const resealed = (gateway: ScriptedGateway, text: string, toKid: string, claims = {}) =>
  gateway.tend('reseal', text, {
    kind: place.kind,
    rowId: place.id,
    scope: place.scope,
    version: place.version,
    toKid,
    ...claims,
  })

test('the hello tells the keys, where they come from, and whether memory gets into core dumps', async () => {
  const { gateway, ring } = await start()
  expect(gateway.hello).toMatchObject({
    vault: { kid: ring.newest.kid },
    keys: ring.state,
    coreDumps: expect.stringMatching(/^(?:off|on|unknown)$/),
  })
  expect(JSON.stringify(gateway.hello)).not.toContain('PRIVATE')
})

test('a new key is made, and told to every gateway', async () => {
  const { bench, gateway, ring, source } = await start()
  const other = await bench.worker.gateway()
  const answer = await gateway.tend('rotate')
  expect(answer.head).toMatchObject({ verdict: 'result', digest: digestBytes(answer.raw) })
  expect(stateOf(answer).keys.map(({ kid }) => kid)).toEqual(source.keys.map(({ kid }) => kid))
  expect(source.keys).toHaveLength(2)
  for (const each of [gateway, other]) {
    await each.until(() => each.of('vault').length > 0)
    expect(each.of('vault').at(-1)?.head).toEqual(ring.state)
  }
  expect((await bench.worker.gateway()).hello.vault?.kid).toBe(ring.newest.kid)
})

test('a seal is answered with the same secret for the same place, to the new key', async () => {
  const { gateway, ring } = await start()
  const before = seal({ token: 'a secret' }, place, ring.newest)
  const old = ring.newest
  await gateway.tend('rotate')
  const { raw } = await resealed(gateway, before, ring.newest.kid)
  expect(openSeal(raw.toString(), place, [ring.newest])).toEqual({ token: 'a secret' })
  expect(() => openSeal(raw.toString(), place, [old])).toThrow()
})

test.each([
  ['of another row', { rowId: 'crd_2' }, 'seal_other_row'],
  ['of another column', { kind: 'webhook' }, 'seal_other_column'],
  ['of another scope', { scope: 'project:x' }, 'seal_other_scope'],
  ['of another version', { version: 3 }, 'seal_other_version'],
  ['to a key that is not here', { toKid: 'nobody' }, 'seal_key_unknown'],
  ['that is not the one that was signed', { argumentsDigest: digestBytes('x') }, 'intent_refused'],
])('a seal %s is not sealed again', async (_what, claims, code) => {
  const { gateway, ring } = await start()
  const text = seal('secret', place, ring.newest)
  const { kid } = ring.newest
  const refused = await resealed(gateway, text, kid, claims)
  expect(refused.head).toMatchObject({ verdict: 'not_sent', code })
  expect(refused.raw).toHaveLength(0)
  expect((await resealed(gateway, text, kid)).head.verdict).toBe('result')
})

test('a key is retired when it is ordered, and never the one that seals', async () => {
  const { gateway, ring, source } = await start()
  const { kid } = ring.newest
  expect((await gateway.tend('retire', '', { kid })).head).toMatchObject({ code: 'conflict' })
  await gateway.tend('rotate')
  const answer = await gateway.tend('retire', '', { kid })
  expect(stateOf(answer)).toMatchObject({ keys: [{ kid: ring.newest.kid }], retired: [kid] })
  expect(source.keys.map((key) => key.kid)).toEqual([ring.newest.kid])
})

test('an unsigned order about the vault does nothing', async () => {
  const { gateway, source } = await start()
  const { kid } = source.keys[0] as { kid: string }
  const order = gateway.composeTend('rotate')
  const changed = { ...order, text: order.text.replace('"rotate"', '"keys"') }
  const batch = gateway.sendIntents([order])
  expect(batch).not.toBe(digestBytes(changed.text))
  gateway.send('abort', { batch })
  gateway.send('body', { intent: order.id })
  gateway.commit(batch)
  expect((await gateway.recover(order)).head.state).toBe('never_started')
  expect(source.keys.map((key) => key.kid)).toEqual([kid])
})

test('a call that is sealed to a key another worker made is done, after one look at the source', async () => {
  const { upstream, source, bench, gateway } = await start()
  const made = await source.create()
  const reads = source.reads
  const connection = sealForTest({ url: upstream.url, token: 'token-1234567890', key: made })
  expect((await gateway.order({ connection })).head.verdict).toBe('result')
  expect(source.reads).toBe(reads + 1)
  const foreign = sealForTest({ url: upstream.url, token: 'x', key: createVaultKey() })
  expect((await gateway.order({ connection: foreign })).head).toMatchObject({
    verdict: 'not_sent',
    code: 'seal_key_unknown',
  })
  expect(source.reads).toBe(reads + 2)
  await bench.call('counter_read')
  expect(source.reads).toBe(reads + 2)
})

test.each(['modern', 'legacy'] as const)(
  'a %s upstream goes on as it is when its seals are those of another key',
  async (era) => {
    const { upstream, ring, bench, gateway } = await start(era)
    expect((await bench.call('counter_read')).head.verdict).toBe('result')
    const asked = upstream.requests.length
    await gateway.tend('rotate')
    const { connection } = bench
    const { connectionId, credentialId } = connection.claims
    const again = sealForTest({
      url: upstream.url,
      token: 'token-1234567890',
      key: ring.newest,
      connectionId,
      credentialId: credentialId as string,
    })
    const order = { ...bench.order('counter_read'), connection: again }
    expect((await gateway.order(order)).head.verdict).toBe('result')
    // The call alone: nothing was agreed on or listed again, and no session ended.
    expect(upstream.requests.length).toBe(asked + 1)
    await gateway.tend('retire', '', { kid: ring.keys[1]?.kid })
    expect((await gateway.order(order)).head.verdict).toBe('result')
    expect(upstream.requests.length).toBe(asked + 2)
    const renewed = sealForTest({
      url: upstream.url,
      token: 'other-1234567890',
      key: ring.newest,
      connectionId,
      credentialId: credentialId as string,
    })
    const other = await gateway.order({ ...order, connection: renewed })
    expect(other.head.verdict).not.toBe('result')
    expect(upstream.requests.at(-1)?.headers.authorization).toBe('Bearer other-1234567890')
  },
)
