import { expect, test } from 'vitest'
import { Wake } from './wake.ts'

const timing = { safetyMs: 10_000, activeMs: 1, idleMs: 8, distrustMs: 10_000 }

/** A folder that tells of changes when the test says so. */
function watched() {
  const told = { change: () => {}, fail: () => {}, watches: 0, unwatched: 0 }
  const files = {
    watch: (onChange: () => void, onFailure: () => void) => {
      told.change = onChange
      told.fail = onFailure
      told.watches++
      return () => void told.unwatched++
    },
  }
  return { told, files }
}

async function pause(wake: Wake, found: boolean): Promise<number> {
  const began = performance.now()
  await wake.next(found)
  return performance.now() - began
}

test('a change wakes at once, also one that comes before the wait', async () => {
  const { told, files } = watched()
  const wake = new Wake(files, timing)
  told.change()
  expect(await pause(wake, false)).toBeLessThan(1_000)
  setTimeout(told.change, 5)
  expect(await pause(wake, false)).toBeLessThan(1_000)
  wake.stop()
})

test('without a watch it looks less and less often while nothing happens', async () => {
  const wake = new Wake({}, { ...timing, activeMs: 2, idleMs: 200 })
  let idle = 0
  for (let n = 0; n < 14; n++) idle = await pause(wake, false)
  expect(idle).toBeGreaterThan(150)
  expect(await pause(wake, true)).toBeLessThan(100)
  wake.stop()
})

test('a watch that misses three finds is not believed any more, and one that tells is', async () => {
  const short = { ...timing, safetyMs: 2 }
  const { told, files } = watched()
  const wake = new Wake(files, short)
  for (let n = 0; n < 5; n++) {
    told.change()
    await wake.next(true)
  }
  expect(told.unwatched).toBe(0)
  await wake.next(false)
  for (let n = 0; n < 3; n++) await wake.next(true)
  expect(told.unwatched).toBe(1)
  wake.stop()
})

test('a watch is believed that told of what is found while the look before was going on', async () => {
  const { told, files } = watched()
  const wake = new Wake(files, { ...timing, safetyMs: 2 })
  // A file is written beside, which wakes; it gets its name when that look has listed already.
  for (let n = 0; n < 5; n++) {
    told.change()
    await wake.next(false)
    await wake.next(true)
  }
  expect(told.unwatched).toBe(0)
  wake.stop()
})

test('a watch that fails is tried again after some time', async () => {
  const { told, files } = watched()
  const wake = new Wake(files, { ...timing, distrustMs: 5 })
  told.fail()
  expect(told.unwatched).toBe(1)
  for (let n = 0; n < 200 && told.watches < 2; n++) await wake.next(false)
  expect(told.watches).toBe(2)
  wake.stop()
})

test('that an earlier watch failed says nothing of the one after it', async () => {
  const { told, files } = watched()
  const wake = new Wake(files, { ...timing, distrustMs: 5 })
  const failEarlier = told.fail
  failEarlier()
  for (let n = 0; n < 200 && told.watches < 2; n++) await wake.next(false)
  const before = told.unwatched
  failEarlier()
  expect(told.unwatched).toBe(before)
  told.fail()
  expect(told.unwatched).toBe(before + 1)
  wake.stop()
})

test('keeps the pause that a provider asks for, whatever is found', async () => {
  const wake = new Wake({ pauseMs: 60 }, timing)
  wake.now()
  expect(await pause(wake, true)).toBeGreaterThan(50)
  wake.stop()
})

test('ends its wait when it is stopped', async () => {
  const { files } = watched()
  const wake = new Wake(files, timing)
  setTimeout(() => wake.stop(), 5)
  expect(await pause(wake, false)).toBeLessThan(1_000)
})
