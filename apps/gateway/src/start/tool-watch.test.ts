import type { Reads, Session, Toolsets } from '@sallyport/core'
import type { SessionId } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import { ToolWatch } from './tool-watch.ts'

const id = 'ses_1' as SessionId

function openWatch() {
  const told: string[] = []
  const state = {
    callable: ['a', 'b'],
    session: 'open',
    watched: [id],
    fails: false,
    unreadable: '',
  }
  const reads = {
    sessions: {
      get: async (session: SessionId) => {
        if (state.fails || session === state.unreadable) throw new Error('cannot be read')
        return { id: session, state: state.session }
      },
    },
  } as unknown as Reads
  const toolsets = {
    of: async () => ({}),
    callable: async () => state.callable.map((name) => ({ binding: { id: name } })),
  } as unknown as Toolsets
  const watch = new ToolWatch(reads, toolsets, {
    watched: () => state.watched,
    toolsChanged: ([session]) => told.push(`changed ${session}`),
    sessionsEnded: ([session]) => told.push(`ended ${session}`),
  })
  const look = async () => {
    watch.look()
    for (const _ of [id, ...state.watched]) await new Promise((resolve) => setImmediate(resolve))
  }
  return { state, told, watch, look }
}

test('tells a session that listens when what it may call changes, and only then', async () => {
  const { state, told, look } = openWatch()
  await look()
  await look()
  expect(told).toEqual([])
  state.callable = ['a']
  await look()
  await look()
  expect(told).toEqual(['changed ses_1'])
  state.callable = ['a', 'b']
  await look()
  expect(told).toEqual(['changed ses_1', 'changed ses_1'])
})

test('what changes between the opening of a stream and the first look is told', async () => {
  const { state, told, watch, look } = openWatch()
  const opened: string[] = []
  await watch.begin({ id } as Session, () => opened.push('first'))
  state.callable = ['a']
  // Another stream of the session changes nothing of what the first is owed.
  await watch.begin({ id } as Session, () => opened.push('second'))
  await look()
  expect(opened).toEqual(['first', 'second'])
  expect(told).toEqual(['changed ses_1'])
})

test('ends the streams of a session that is not open any more', async () => {
  const { state, told, look } = openWatch()
  state.session = 'closing'
  await look()
  expect(told).toEqual(['ended ses_1'])
})

test('says nothing about sessions that do not listen, and begins anew when they listen again', async () => {
  const { state, told, look } = openWatch()
  await look()
  state.watched = []
  state.callable = []
  await look()
  state.watched = [id]
  await look()
  expect(told).toEqual([])
})

test('a store that cannot be read changes nothing; the next look finds what changed', async () => {
  const { state, told, look } = openWatch()
  await look()
  state.fails = true
  state.callable = ['a']
  await look()
  expect(told).toEqual([])
  state.fails = false
  await look()
  expect(told).toEqual(['changed ses_1'])
})

test('a session that cannot be read keeps no other from being told', async () => {
  const { state, told, look } = openWatch()
  const other = 'ses_2' as SessionId
  state.watched = [other, id]
  await look()
  state.unreadable = other
  state.callable = ['a']
  await look()
  expect(told).toEqual(['changed ses_1'])
})

test('a look asked for during a look is made after it', async () => {
  const { state, told, watch, look } = openWatch()
  await look()
  watch.look()
  state.callable = ['a']
  watch.look()
  await new Promise((resolve) => setTimeout(resolve, 5))
  expect(told).toEqual(['changed ses_1'])
})

test('other work has its turn between two sessions', async () => {
  const { state, told, watch } = openWatch()
  state.session = 'closing'
  state.watched = ['ses_1', 'ses_2', 'ses_3'] as SessionId[]
  watch.look()
  const seen: number[] = []
  while (told.length < 3) {
    await new Promise((resolve) => setImmediate(resolve))
    seen.push(told.length)
  }
  expect(seen).toEqual([1, 2, 3])
})
