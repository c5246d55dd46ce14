import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Register } from './register.ts'

const key = fc.integer({ min: 0, max: 40 })
const step = fc.oneof(
  fc.record({ do: fc.constant('set' as const), key }),
  fc.record({ do: fc.constant('delete' as const), key }),
  fc.record({ do: fc.constant('churn' as const), key }),
)

test('is a map, whatever comes and goes', () => {
  const property = fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const register = new Register<number, { n: number }>()
    const model = new Map<number, { n: number }>()
    for (const [n, { do: what, key }] of steps.entries()) {
      const value = { n }
      if (what === 'delete') {
        expect(register.delete(key)).toBe(model.get(key))
        model.delete(key)
      } else if (what === 'set') {
        register.set(key, value)
        model.set(key, value)
      } else {
        // Enough to leave the places behind more than once.
        for (let at = 1_000; at < 2_500; at++) {
          register.set(at, value)
          register.delete(at)
        }
      }
      expect(register.size).toBe(model.size)
      expect(register.get(key)).toBe(model.get(key))
      expect(register.has(key)).toBe(model.has(key))
    }
    expect(new Map(register.entries())).toEqual(model)
    expect(new Set(register.values())).toEqual(new Set(model.values()))
  })
  fc.assert(property, { numRuns: 50 })
})

test('takes a key again', () => {
  const register = new Register<string, true>()
  for (const name of ['a', 'b', 'c']) register.set(name, true)
  register.delete('a')
  register.set('a', true)
  expect([...register.entries()].map(([name]) => name).sort()).toEqual(['a', 'b', 'c'])
  expect(register.size).toBe(3)
})

test('goes through what it held, whatever becomes of it meanwhile', () => {
  const register = new Register<number, true>()
  for (let at = 0; at < 600; at++) register.set(at, true)
  let seen = 0
  for (const [at] of register.entries()) {
    register.delete(at)
    seen++
  }
  expect([seen, register.size, register.values()]).toEqual([600, 0, []])
})

/**
 * Things in flight, a few at a time, and one full collection, which takes all that is there for old. Prints how large the old
 * generation became at most, in MiB.
 */
const churn = (made: string) => `
  import { Register } from ${JSON.stringify(new URL('./register.ts', import.meta.url).href)}
  import { getHeapSpaceStatistics } from 'node:v8'
  const register = ${made}
  const old = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space').space_used_size
  const thing = () => Array.from({ length: 300 }, (_, n) => ({ n }))
  let highest = 0
  for (let n = 0; n < 30_000; n++) {
    register.set('key' + n, { all: thing() })
    if (n >= 64) register.delete('key' + (n - 64))
    if (n === 1_000) gc()
    if (n % 100 === 0) highest = Math.max(highest, old())
  }
  console.log(highest / 2 ** 20)`

async function highestOld(made: string): Promise<number> {
  const flags = ['--expose-gc', '--max-semi-space-size=4', '--input-type=module', '-e', churn(made)]
  const { stdout } = await promisify(execFile)(process.execPath, flags)
  return Number(stdout)
}

test('keeps nothing alive that has gone, as a map does', async () => {
  const [map, register] = await Promise.all([highestOld('new Map()'), highestOld('new Register()')])
  // Were this not so any more, a map would do.
  expect(map).toBeGreaterThan(20)
  expect(register).toBeLessThan(12)
}, 60_000)
