import { digestOf } from '@sallyport/protocol/node'
import type { Binding } from './binding.ts'

/** Over every field but `id`. Stored hashes must come out the same for ever: see the golden file. */
export function bindingHash(binding: Omit<Binding, 'id' | 'hash'>): string {
  const { id: _, hash: __, ...hashed } = binding as Binding
  return digestOf(hashed)
}
