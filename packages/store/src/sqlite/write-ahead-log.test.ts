import type { SallyportError } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import { WriteAheadLog } from './write-ahead-log.ts'

/** A disk whose flushes end when the test says so. */
function disk() {
  const flushes: PromiseWithResolvers<void>[] = []
  const failures: SallyportError[] = []
  const log = new WriteAheadLog(
    () => {
      const flush = Promise.withResolvers<void>()
      flushes.push(flush)
      return flush.promise
    },
    (error) => failures.push(error),
  )
  const commit = () => {
    log.noteCommit()
    const state = { isDone: false, error: undefined as unknown }
    const settle = () => {
      state.isDone = true
    }
    log.flush().then(settle, (error) => {
      state.error = error
    })
    return state
  }
  return { flushes, failures, log, commit }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('confirms a commit when a flush that began after it has ended', async () => {
  const { flushes, commit } = disk()
  const first = commit()
  await turn()
  expect(flushes).toHaveLength(1)
  expect(first.isDone).toBe(false)
  flushes[0]?.resolve()
  await turn()
  expect(first.isDone).toBe(true)
})

test('confirms what is committed during a flush by the next one, all together', async () => {
  const { flushes, commit } = disk()
  const first = commit()
  const later = [commit(), commit(), commit()]
  flushes[0]?.resolve()
  await turn()
  expect(first.isDone).toBe(true)
  expect(later.some(({ isDone }) => isDone)).toBe(false)
  expect(flushes).toHaveLength(2)
  flushes[1]?.resolve()
  await turn()
  expect(later.every(({ isDone }) => isDone)).toBe(true)
  expect(flushes).toHaveLength(2)
})

test('flushes nothing when nothing was committed since', async () => {
  const { flushes, log, commit } = disk()
  await log.flush()
  expect(flushes).toHaveLength(0)
  commit()
  flushes[0]?.resolve()
  await turn()
  await log.flush()
  expect(flushes).toHaveLength(1)
})

test('never confirms again after a flush has failed', async () => {
  const { flushes, failures, log, commit } = disk()
  const first = commit()
  const waiting = commit()
  flushes[0]?.reject(new Error('EIO'))
  await turn()
  const notDurable = { code: 'not_durable' }
  expect(first.error).toMatchObject(notDurable)
  expect(waiting.error).toMatchObject(notDurable)
  expect(failures).toHaveLength(1)
  log.noteCommit()
  await expect(log.flush()).rejects.toMatchObject(notDurable)
  expect(flushes).toHaveLength(1)
})
