import type { Order } from '@sallyport/core'
import type { IntentId } from '@sallyport/protocol'
import { anyIntentSchema, digestBytes, type ResultHead } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
import { LinkedVault } from './linked-vault.ts'

const state = { source: 'file', keys: [], retired: [] } as const
const stored = {
  row: 'crd_1',
  place: { kind: 'credential', id: 'crd_1', scope: 'org', version: 2 },
  seal: 'an old seal',
} as const

function vaultOf(answer: Partial<ResultHead>, raw = JSON.stringify(state)) {
  const orders: Order[] = []
  const vault = new LinkedVault({
    link: {
      instance: () => 'worker-1',
      vault: () => state,
      order: async (order) => {
        orders.push(order)
        const head = { intent: order.id, verdict: 'result', ...answer } as ResultHead
        return { head, raw: Buffer.from(raw) }
      },
    },
    ids: (() => 'int_1') as never,
    now: () => 1_000,
  })
  return { vault, orders, text: () => JSON.parse(orders[0]?.text ?? '') }
}

const claims = { v: 1, id: 'int_1', iat: 1_000, exp: 16_000, startWithin: 15_000, aud: 'worker-1' }

test.each([
  ['read', { act: 'keys' }],
  ['rotate', { act: 'rotate' }],
] as const)('%s is an order, and its answer what the worker holds', async (verb, act) => {
  const { vault, text, orders } = vaultOf({})
  expect(await vault[verb]()).toEqual(state)
  expect(text()).toEqual({ ...claims, ...act })
  expect(anyIntentSchema.safeParse(text()).success).toBe(true)
  expect(orders[0]).toMatchObject({ endpointSeal: undefined, argumentsText: '' })
})

test('a key is retired by its name', async () => {
  const { vault, text } = vaultOf({})
  await vault.retire('k1')
  expect(text()).toEqual({ ...claims, act: 'retire', kid: 'k1' })
  expect(anyIntentSchema.safeParse(text()).success).toBe(true)
})

test('a seal travels beside an order that is bound to its bytes and place', async () => {
  const { vault, text, orders } = vaultOf({}, 'a new seal')
  expect(await vault.reseal(stored, 'k2')).toBe('a new seal')
  expect(text()).toEqual({
    ...claims,
    act: 'reseal',
    kind: 'credential',
    rowId: 'crd_1',
    scope: 'org',
    version: 2,
    toKid: 'k2',
    argumentsDigest: digestBytes('an old seal'),
  })
  expect(anyIntentSchema.safeParse(text()).success).toBe(true)
  expect(orders).toEqual([
    {
      id: 'int_1' as IntentId,
      text: orders[0]?.text,
      digest: digestBytes(orders[0]?.text ?? ''),
      endpointSeal: undefined,
      credentialSeal: undefined,
      argumentsText: 'an old seal',
    },
  ])
})

test.each<[Partial<ResultHead>, string]>([
  [{ verdict: 'not_sent', code: 'seal_other_row' }, 'seal_other_row'],
  [{ verdict: 'not_sent', code: 'vault_key_fixed' }, 'vault_key_fixed'],
  [{ verdict: 'uncertain' }, 'not_sent'],
])('hands on why it was not done: %j', async (answer, code) => {
  const { vault } = vaultOf(answer)
  await expect(vault.rotate()).rejects.toMatchObject({ code })
  await expect(vault.reseal(stored, 'k2')).rejects.toMatchObject({ code })
})
