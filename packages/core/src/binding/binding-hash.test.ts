/** The golden file was hashed by another program; what is stored must come out the same for ever. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Binding } from './binding.ts'
import { bindingHash } from './binding-hash.ts'

const golden = new URL('golden-bindings.json', import.meta.url)
const bindings = JSON.parse(readFileSync(golden, 'utf8')) as Binding[]

test('stored bindings hash to what is stored', () => {
  expect(bindings).toHaveLength(3)
  for (const binding of bindings) expect(bindingHash(binding)).toBe(binding.hash)
})

test('the order of members decides nothing, every value does, the id nothing', () => {
  const binding = bindings[0] as Binding
  const { id, hash, ...hashed } = binding
  const reversed = Object.fromEntries(Object.entries(binding).reverse()) as unknown as Binding
  expect(bindingHash(reversed)).toBe(hash)
  expect(bindingHash({ ...binding, id: `${id}x` as Binding['id'] } as Binding)).toBe(hash)
  for (const name of Object.keys(hashed))
    expect(bindingHash({ ...binding, [name]: 'other' } as Binding), name).not.toBe(hash)
})
