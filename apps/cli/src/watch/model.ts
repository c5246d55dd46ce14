/** How events change what the view knows. Pure: what is to be done outside comes back as effects. */
import { approval as approvalShape } from '@sallyport/protocol'
import { type Approval, type ApprovalDetail, isOpen } from '../print/approval.ts'
import { pressed } from './press.ts'
import {
  type Effect,
  type Event,
  mayDecide,
  only,
  type Row,
  type State,
  type Step,
  withOpened,
} from './state.ts'

/** What is over stays in its place for so long. */
const shownOverMs = 300_000

export function step(before: State, event: Event, now: number): Step {
  const state = { ...before, now }
  switch (event.kind) {
    case 'seen':
      return seen(state, event.approvals, event.gone)
    case 'unreachable':
      return only({ ...state, trouble: { text: event.text, againAt: now + event.againInMs } })
    case 'key':
      return pressed({ ...state, notice: undefined }, event.key)
    case 'shown':
      return shown(state, event.detail)
    case 'decided':
      return decided(state, event.approval)
    case 'failed':
      return failed(state, event)
    case 'drawn':
      return only(withOpened(state, { scroll: event.scroll }))
    case 'size':
      return only({ ...state, columns: event.columns, lines: event.lines })
    case 'tick':
      return only(select({ ...state, rows: state.rows.filter((row) => mayStay(state, row)) }))
  }
}

function mayStay({ now, selected, opened }: State, { approval, overSince }: Row): boolean {
  if (overSince === null || overSince + shownOverMs > now) return true
  return approval.id === selected || approval.id === opened?.id
}

function seen(state: State, approvals: readonly Approval[], gone: readonly string[]): Step {
  const known = new Set(state.rows.map(({ approval }) => approval.id))
  const hasNew = approvals.some((one) => !known.has(one.id) && one.state === 'pending')
  const { id } = state.opened ?? {}
  const rows = merge(state, approvals).filter((row) => !gone.includes(row.approval.id))
  const next = refreshed(select({ ...state, rows, hasSeen: true, trouble: undefined }), approvals)
  const effects: Effect[] = []
  if (hasNew && state.hasSeen) effects.push({ kind: 'bell' })
  if (id !== undefined && approvals.some((one) => one.id === id)) effects.push({ kind: 'show', id })
  if (id === undefined || !gone.includes(id)) return { state: next, effects }
  const notice = { text: 'It is not there any more, or not yours to see.', isBad: true }
  return { state: { ...next, opened: undefined, notice }, effects }
}

function merge({ rows, now }: State, approvals: readonly Approval[]): Row[] {
  const byId = new Map(rows.map((row) => [row.approval.id, row]))
  for (const approval of approvals) {
    const before = byId.get(approval.id)
    if (isOpen(approval)) byId.set(approval.id, { approval, overSince: null })
    else if (before) byId.set(approval.id, { approval, overSince: before.overSince ?? now })
  }
  // Ids sort by their time.
  return [...byId.values()].sort((a, b) => (a.approval.id < b.approval.id ? 1 : -1))
}

/** Selects a neighbour where the selected row went away. */
function select(state: State): State {
  const { rows, selected } = state
  if (rows.some(({ approval }) => approval.id === selected)) return state
  const below = rows.find(({ approval }) => selected === undefined || approval.id < selected)
  return { ...state, selected: (below ?? rows.at(-1))?.approval.id }
}

/** What is open follows its row, and a question that is answered already goes away. */
function refreshed(state: State, approvals: readonly Approval[]): State {
  const { opened } = state
  const row = approvals.find(({ id }) => id === opened?.id)
  if (!opened || !row) return state
  const next = withOpened(state, { detail: opened.detail && { ...opened.detail, ...row } })
  const { prompt } = opened
  if (!prompt || prompt.isSent || mayDecide(row, prompt.decision)) return next
  const notice = { text: `Meanwhile it is ${row.state}, and not yours to decide.`, isBad: true }
  return { ...withOpened(next, { prompt: undefined }), notice }
}

function shown(state: State, detail: ApprovalDetail): Step {
  if (state.opened?.id !== detail.id) return only(state)
  const approval = approvalShape.parse(detail)
  const next = refreshed({ ...state, rows: merge(state, [approval]) }, [approval])
  return only(withOpened(next, { detail }))
}

function decided(state: State, approval: Approval): Step {
  const text = {
    approved: 'Approved: the call may be sent, once.',
    denied: 'Denied: nothing is sent.',
    pending: 'Counted: another person must approve it too.',
  }[approval.state as string]
  const notice = { text: text ?? `It is ${approval.state}.`, isBad: false }
  const opened = state.opened?.prompt?.isSent ? undefined : state.opened
  return only({ ...state, rows: merge(state, [approval]), opened, notice })
}

function failed(state: State, { of, id, text, isAway }: Extract<Event, { kind: 'failed' }>): Step {
  const next = { ...state, notice: { text, isBad: true } }
  if (of === 'show' || state.opened?.id !== id) return only(next)
  const { prompt } = state.opened
  if (isAway && prompt) return only(withOpened(next, { prompt: { ...prompt, isSent: false } }))
  return { state: withOpened(next, { prompt: undefined }), effects: [{ kind: 'show', id }] }
}
