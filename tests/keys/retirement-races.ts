/** On every engine: whoever writes a seal and whoever retires its key never both succeed. */
import { registerKeys, retireKey, type Store } from '@sallyport/core'
import { expect, test } from 'vitest'
import { addConnection, newWorld } from '../authority/world.ts'

const rounds = 30
const secrets = { url: 'https://docs.example.com/mcp', token: 't0ken' }

export interface Stores {
  readonly store: Store
  /** Of another gateway. */
  readonly rival: Store
  close(): Promise<void>
}

export function retirementRaces(name: string, open: () => Promise<Stores>): void {
  test(`${name}: a key is retired, or something is sealed to it, never both`, {
    timeout: 120_000,
  }, async () => {
    const { store, rival, close } = await open()
    const seen = { retired: 0, sealed: 0 }
    try {
      const w = await newWorld(store)
      for (let round = 0; round < rounds; round++) {
        const kid = `${w.key.kid.slice(0, -3)}${String(round).padStart(3, '0')}`
        const key = { ...w.key, kid }
        await registerKeys(store, { keys: [{ kid, madeAt: null }], retired: [] })
        const scope = `project:p${round}`
        // One begins later than the other, by more questions to the database from round to round: both come first.
        const late = async (is: boolean) => {
          for (let n = 0; is && n < round / 2; n++) await rival.vaultKeys.list()
        }
        const write = async () => {
          await late(round % 2 === 0)
          return await addConnection({ ...w, key }, w.admin, { name: 'c', scope, ...secrets }).then(
            () => true,
            ({ code }) => {
              expect(code).toBe('seal_key_retired')
              return false
            },
          )
        }
        const retire = async () => {
          await late(round % 2 === 1)
          return await retireKey(rival, kid)
        }
        const [sealed, retired] = await Promise.all([write(), retire()])
        expect([sealed, retired]).toContain(true)
        expect(sealed && retired).toBe(false)
        if (retired) seen.retired++
        if (sealed) seen.sealed++
      }
    } finally {
      await close()
    }
    expect(seen.retired).toBeGreaterThan(0)
    expect(seen.sealed).toBeGreaterThan(0)
  })
}
