/**
 * What the view of approvals knows, what happens to it, and what it wants done. Whatever is selected, open or being decided
 * is held by its id, so that nothing that arrives moves it away.
 */
import type { Approval, ApprovalDetail } from '../print/approval.ts'
import type { Key } from './keys.ts'

export type Decision = 'approve' | 'deny'

export interface Row {
  readonly approval: Approval
  /** When this view saw that it is over; null while it is not. */
  readonly overSince: number | null
}

export interface Prompt {
  readonly decision: Decision
  readonly note: string
  /** The decision is on its way. */
  readonly isSent: boolean
}

export interface Opened {
  readonly id: string
  readonly isRaw: boolean
  /** Lines above the window; undefined: so that the arguments are in it. Drawing says how many there can be. */
  readonly scroll: number | undefined
  /** Undefined while it is fetched. */
  readonly detail: ApprovalDetail | undefined
  readonly prompt: Prompt | undefined
}

export interface State {
  readonly now: number
  readonly columns: number
  readonly lines: number
  /** Newest first. */
  readonly rows: readonly Row[]
  readonly selected: string | undefined
  readonly opened: Opened | undefined
  /** Set while Sallyport does not answer as it should: what it says, if anything, and when it is asked again. */
  readonly trouble: { readonly text: string | undefined; readonly againAt: number } | undefined
  /** What came of the last key; goes with the next. */
  readonly notice: { readonly text: string; readonly isBad: boolean } | undefined
  readonly hasSeen: boolean
}

export type Event =
  | {
      readonly kind: 'seen'
      readonly approvals: readonly Approval[]
      readonly gone: readonly string[]
    }
  | { readonly kind: 'unreachable'; readonly text: string | undefined; readonly againInMs: number }
  | { readonly kind: 'key'; readonly key: Key }
  | { readonly kind: 'shown'; readonly detail: ApprovalDetail }
  | { readonly kind: 'decided'; readonly approval: Approval }
  /** `isAway`: the same may work in a moment. */
  | {
      readonly kind: 'failed'
      readonly of: 'show' | 'decide'
      readonly id: string
      readonly text: string
      readonly isAway: boolean
    }
  | { readonly kind: 'drawn'; readonly scroll: number | undefined }
  | { readonly kind: 'size'; readonly columns: number; readonly lines: number }
  | { readonly kind: 'tick' }

export type Effect =
  | { readonly kind: 'show'; readonly id: string }
  | {
      readonly kind: 'decide'
      readonly id: string
      readonly decision: Decision
      readonly note: string
    }
  | { readonly kind: 'bell' | 'quit' | 'interrupt' | 'suspend' | 'redraw' }

export interface Step {
  readonly state: State
  readonly effects: readonly Effect[]
}

export function begin(now: number, columns: number, lines: number): State {
  return {
    ...{ now, columns, lines, rows: [], hasSeen: false },
    ...{ selected: undefined, opened: undefined, trouble: undefined, notice: undefined },
  }
}

export const only = (state: State): Step => ({ state, effects: [] })

/** With another part of what is open; as it is when nothing is. */
export function withOpened(state: State, part: Partial<Opened>): State {
  return state.opened ? { ...state, opened: { ...state.opened, ...part } } : state
}

export function mayDecide(one: Approval, decision: Decision): boolean {
  return decision === 'approve' ? one.mayApprove : one.mayDeny
}
