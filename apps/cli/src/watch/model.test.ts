import { expect, test } from 'vitest'
import type { Approval } from '../print/approval.ts'
import { approval, approvalDetail } from '../testing/sample-approvals.ts'
import { at } from '../testing/sample-ids.ts'
import type { Key, KeyName } from './keys.ts'
import { step } from './model.ts'
import { begin, type Effect, type Event, type State } from './state.ts'

const begun = Date.parse(at)
const idOf = (n: number): string => `apr_01jd000000000000000000000${n}`
const one = (n: number, change: Partial<Approval> = {}): Approval => ({
  ...approval,
  id: idOf(n),
  ...change,
})

/** A view that things happen to. */
class Seen {
  state: State = begin(begun, 80, 24)
  now = begun
  effects: Effect[] = []

  tell(event: Event): this {
    const { state, effects } = step(this.state, event, this.now)
    this.state = state
    this.effects = [...effects]
    return this
  }

  sees(...approvals: Approval[]): this {
    return this.tell({ kind: 'seen', approvals, gone: [] })
  }

  /** Names of keys, or letters. */
  press(...keys: string[]): this {
    for (const key of keys) this.tell({ kind: 'key', key: keyOf(key) })
    return this
  }

  shows(n: number, change: Partial<Approval> = {}): this {
    return this.tell({ kind: 'shown', detail: { ...approvalDetail, ...one(n, change) } })
  }

  get ids(): string[] {
    return this.state.rows.map((row) => row.approval.id)
  }

  get notice(): string | undefined {
    return this.state.notice?.text
  }
}

function keyOf(key: string): Key {
  if ([...key].length === 1) return { kind: 'typed', text: key }
  return { kind: 'named', name: key as KeyName }
}

const seen = (...ns: number[]): Seen => new Seen().sees(...ns.map((n) => one(n)))

test('newest stand first, and the first to come is selected', () => {
  const view = seen(1, 3, 2)
  expect(view.ids).toEqual([3, 2, 1].map(idOf))
  expect(view.state.selected).toBe(idOf(3))
})

test('a new one moves neither the selection nor what is open', () => {
  const view = seen(1, 2).press('down')
  expect(view.state.selected).toBe(idOf(1))
  view.sees(one(3))
  expect(view.state.selected).toBe(idOf(1))
  view.press('enter').sees(one(4))
  expect(view.state.opened?.id).toBe(idOf(1))
})

test('rings for a new one, not for those of the beginning nor for a change', () => {
  expect(new Seen().sees(one(1)).effects).toEqual([])
  expect(seen(1).sees(one(2)).effects).toEqual([{ kind: 'bell' }])
  expect(seen(1).sees(one(1, { caller: 'detached' })).effects).toEqual([])
})

test('one that is decided elsewhere, expires, or is left changes in its place', () => {
  const view = seen(1, 2, 3)
  view.sees(
    one(2, { state: 'denied' }),
    one(1, { caller: 'held_back' }),
    one(3, { state: 'expired' }),
  )
  expect(view.ids).toEqual([3, 2, 1].map(idOf))
  const told = view.state.rows.map((row) => [row.approval.state, row.approval.caller])
  expect(told).toEqual([
    ['expired', 'attached'],
    ['denied', 'attached'],
    ['pending', 'held_back'],
  ])
})

test('what is over goes five minutes later, but not from under the selection', () => {
  const view = seen(1, 2)
  view.sees(one(1, { state: 'denied' }), one(2, { state: 'denied' }))
  view.now += 299_000
  expect(view.tell({ kind: 'tick' }).ids).toEqual([2, 1].map(idOf))
  view.now += 2000
  expect(view.tell({ kind: 'tick' }).ids).toEqual([idOf(2)])
  view.sees(one(3)).press('up')
  expect(view.tell({ kind: 'tick' }).ids).toEqual([idOf(3)])
})

test('one that is not there any more goes, and a neighbour is selected', () => {
  const view = seen(1, 2, 3).press('down')
  view.tell({ kind: 'seen', approvals: [], gone: [idOf(2)] })
  expect(view.ids).toEqual([3, 1].map(idOf))
  expect(view.state.selected).toBe(idOf(1))
  view.press('enter').tell({ kind: 'seen', approvals: [], gone: [idOf(1)] })
  expect(view.state.opened).toBeUndefined()
  expect(view.notice).toBe('It is not there any more, or not yours to see.')
  view.tell({ kind: 'seen', approvals: [], gone: [idOf(3)] })
  expect(view.state.selected).toBeUndefined()
})

test.each([
  [['j'], 2],
  [['down', 'j', 'j', 'j'], 1],
  [['down', 'k'], 3],
  [['end'], 1],
  [['G', 'home'], 3],
  [['G', 'g'], 3],
  [['pageDown'], 1],
  [['up'], 3],
])('keys %j select', (keys, n) => {
  expect(seen(1, 2, 3).press(...keys).state.selected).toBe(idOf(n))
})

test.each(['enter', ' '])('%j opens what is selected', (key) => {
  const view = seen(1, 2).press(key)
  expect(view.state.opened?.id).toBe(idOf(2))
  expect(view.effects).toEqual([{ kind: 'show', id: idOf(2) }])
  expect(view.shows(2).state.opened?.detail?.arguments).toBe(approvalDetail.arguments)
  expect(view.press('escape').state.opened).toBeUndefined()
})

test('details of another are not shown as these', () => {
  expect(seen(1, 2).press('enter').shows(1).state.opened?.detail).toBeUndefined()
})

test('details follow what changes, and are fetched again', () => {
  const view = seen(1)
    .press('enter')
    .shows(1)
    .sees(one(1, { caller: 'detached' }))
  expect(view.state.opened?.detail?.caller).toBe('detached')
  expect(view.effects).toEqual([{ kind: 'show', id: idOf(1) }])
})

test('r shows the exact arguments and back', () => {
  const view = seen(1).press('enter').shows(1).press('down', 'r')
  expect(view.state.opened).toMatchObject({ isRaw: true, scroll: 0 })
  expect(view.press('r').state.opened?.isRaw).toBe(false)
})

test.each([
  ['a', 'approve'],
  ['d', 'deny'],
] as const)('%s asks for a note below the details, and Enter decides', (key, decision) => {
  const view = seen(1).press(key)
  expect(view.effects).toEqual([{ kind: 'show', id: idOf(1) }])
  view.shows(1).press('n', 'o', ' ', 'q', 'x', 'backspace', 'enter')
  const note = 'no q'
  expect(view.effects).toEqual([{ kind: 'decide', id: idOf(1), decision, note }])
  expect(view.state.opened?.prompt).toMatchObject({ note, isSent: true })
})

test('a note may be empty; Esc goes back step by step', () => {
  const view = seen(1).press('enter').shows(1).press('a')
  expect(view.press('escape').state.opened?.prompt).toBeUndefined()
  expect(view.state.opened?.id).toBe(idOf(1))
  view.press('a', 'enter')
  expect(view.effects).toMatchObject([{ kind: 'decide', note: '' }])
})

test('nothing is decided that was not shown', () => {
  const view = seen(1).press('a', 'enter')
  expect(view.effects).toEqual([])
  expect(view.notice).toBe('Wait until it is shown.')
  expect(view.shows(1).press('enter').effects).toMatchObject([{ kind: 'decide' }])
})

test('a decision is sent once, however often Enter is pressed', () => {
  const view = seen(1).press('a').shows(1).press('enter')
  expect(view.press('enter', 'escape', 'x').effects).toEqual([])
  expect(view.state.opened?.prompt).toMatchObject({ note: '', isSent: true })
})

test('what is pasted is a note in one line, and never a command', () => {
  const paste = (text: string): Event => ({ kind: 'key', key: { kind: 'pasted', text } })
  for (const text of ['q', 'a', '\r', 'a\rq']) expect(seen(1).tell(paste(text)).effects).toEqual([])
  const view = seen(1).press('a').shows(1).tell(paste('one\r\ntwo\x1b'))
  expect(view.effects).toEqual([])
  expect(view.state.opened?.prompt?.note).toBe('one two ')
})

test('a note is no longer than the API takes; words and lines can be erased', () => {
  const paste: Event = { kind: 'key', key: { kind: 'pasted', text: 'x'.repeat(2001) } }
  const view = seen(1).press('a').shows(1).press('a', ' ', 'b', 'c')
  expect(view.tell(paste).notice).toBe('A note is no longer than this.')
  expect(view.press('eraseWord').state.opened?.prompt?.note).toBe('a ')
  expect(view.press('eraseLine').state.opened?.prompt?.note).toBe('')
})

test('the arrows scroll the details while a note is typed', () => {
  const view = seen(1).press('a').shows(1)
  expect(view.state.opened?.scroll).toBeUndefined()
  view.tell({ kind: 'drawn', scroll: 0 }).press('down', 'pageDown')
  expect(view.state.opened?.scroll).toBe(20)
  expect(view.press('up').state.opened?.scroll).toBe(19)
  expect(view.tell({ kind: 'drawn', scroll: 4 }).state.opened?.scroll).toBe(4)
})

test.each([
  [{ mayApprove: false }, 'a', 'You may not approve this one.'],
  [{ mayDeny: false }, 'd', 'You may not deny this one.'],
  [{ mayApprove: false, state: 'approved' }, 'a', 'It is approved already.'],
] as const)('of %j, %s is told to be impossible', (change, key, notice) => {
  const view = new Seen().sees(one(1, change)).press(key)
  expect(view.state.opened).toBeUndefined()
  expect(view.notice).toBe(notice)
  expect(view.press('down').notice).toBeUndefined()
})

test('a question that was answered elsewhere meanwhile goes away', () => {
  const view = seen(1).press('a').shows(1).press('x')
  view.sees(one(1, { state: 'denied', mayApprove: false, mayDeny: false }))
  expect(view.state.opened?.prompt).toBeUndefined()
  expect(view.notice).toBe('Meanwhile it is denied, and not yours to decide.')
  expect(view.press('enter').effects).toEqual([])
})

test.each([
  ['approved', 'Approved: the call may be sent, once.'],
  ['denied', 'Denied: nothing is sent.'],
  ['pending', 'Counted: another person must approve it too.'],
  ['consumed', 'It is consumed.'],
] as const)('a decision that makes it %s is told in the list', (state, notice) => {
  const view = seen(1).press('a').shows(1).press('enter')
  view.tell({ kind: 'decided', approval: one(1, { state }) })
  expect(view.state.opened).toBeUndefined()
  expect(view.state.rows[0]?.approval.state).toBe(state)
  expect(view.notice).toBe(notice)
})

const failed = (of: 'show' | 'decide', isAway: boolean): Event => {
  return { kind: 'failed', of, id: idOf(1), text: 'code: why', isAway }
}

test('a decision that could not be brought can be sent again with its note', () => {
  const view = seen(1).press('a').shows(1).press('x', 'enter').tell(failed('decide', true))
  expect(view.state.opened?.prompt).toEqual({ decision: 'approve', note: 'x', isSent: false })
  expect(view.notice).toBe('code: why')
  expect(view.press('enter').effects).toMatchObject([{ kind: 'decide', note: 'x' }])
})

test('a decision that was refused is told, and the details are fetched again', () => {
  const view = seen(1).press('a').shows(1).press('enter').tell(failed('decide', false))
  expect(view.state.opened).toMatchObject({ id: idOf(1), prompt: undefined })
  expect(view.notice).toBe('code: why')
  expect(view.effects).toEqual([{ kind: 'show', id: idOf(1) }])
})

test('details that could not be fetched are told', () => {
  expect(seen(1).press('enter').tell(failed('show', true)).notice).toBe('code: why')
})

test('trouble stays until something is seen again', () => {
  const view = seen(1).tell({ kind: 'unreachable', text: undefined, againInMs: 4000 })
  expect(view.state.trouble).toEqual({ text: undefined, againAt: begun + 4000 })
  expect(view.press('down').state.trouble).toBeDefined()
  expect(view.sees().state.trouble).toBeUndefined()
})

test.each([
  ['q', 'quit'],
  ['interrupt', 'interrupt'],
  ['suspend', 'suspend'],
  ['redraw', 'redraw'],
])('%s asks for %s, in the list and in details', (key, kind) => {
  expect(seen(1).press(key).effects).toEqual([{ kind }])
  expect(seen(1).press('enter').shows(1).press(key).effects).toEqual([{ kind }])
  expect(new Seen().press(key).effects).toEqual([{ kind }])
})

test('q is a letter in a note, and Control-C is not', () => {
  const view = seen(1).press('a').shows(1)
  expect(view.press('q').effects).toEqual([])
  expect(view.press('interrupt').effects).toEqual([{ kind: 'interrupt' }])
})

test('keys do nothing where there is nothing', () => {
  const view = new Seen().press('enter', 'a', 'd', 'j', 'k', 'escape', 'r', 'x')
  expect(view.effects).toEqual([])
  expect(view.state.opened).toBeUndefined()
})
