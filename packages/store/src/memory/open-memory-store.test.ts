import { start } from '../contract/examples.ts'
import { storeContract } from '../contract.ts'
import { openMemoryStore } from './open-memory-store.ts'

storeContract('memory', async () => {
  let now = start
  const store = openMemoryStore({ now: () => now })
  const setClock = (to: number) => {
    now = to
  }
  return { store, rival: store, setClock, close: () => store.close() }
})
