/** The view as lines, as many as the terminal has and none longer. Pure. */
import { type Approval, callerWord, describeApproval, hasLeft, isOpen } from '../print/approval.ts'
import { shownText } from '../print/shown-text.ts'
import { paintState, type Style } from '../print/style.ts'
import { count } from '../print/table.ts'
import { timeLeft } from '../print/time.ts'
import { cut, pad, widthOf } from '../print/width.ts'
import type { Opened, Prompt, State } from './state.ts'

export interface Frame {
  readonly lines: readonly string[]
  /** Lines above the window, when something is open: never more than there are. Undefined while that is not known. */
  readonly scroll: number | undefined
}

export function draw(state: State, style: Style): Frame {
  const head = headLines(state, style)
  const room = Math.max(0, state.lines - head.length - footHeight(state))
  const { lines, scroll, below } = state.opened
    ? detailWindow(state, state.opened, style, room)
    : { lines: listWindow(state, style, room), scroll: 0, below: 0 }
  const filled = [...lines, ...Array<string>(Math.max(0, room - lines.length)).fill('')]
  const foot = footLines(state, style, below)
  return { lines: [...head, ...filled, ...foot].slice(0, state.lines), scroll }
}

function headLines(state: State, style: Style): string[] {
  const { columns, trouble, opened } = state
  const title = opened ? titleOf(state, opened) : summary(state)
  const warning = trouble ? [style.bad(cut(shownText(warningOf(trouble, state.now)), columns))] : []
  return [style.strong(cut(title, columns)), ...warning]
}

function warningOf({ text, againAt }: NonNullable<State['trouble']>, now: number): string {
  const seconds = Math.max(0, Math.ceil((againAt - now) / 1000))
  return text === undefined
    ? `! Not reachable; asked again in ${seconds} s. What is below may be old.`
    : `! Asked again in ${seconds} s: ${text}`
}

function summary({ rows }: State): string {
  const waiting = rows.filter(({ approval }) => approval.state === 'pending').length
  return `${count(waiting, 'approval')} waiting`
}

function titleOf({ rows, now }: State, { id, detail }: Opened): string {
  const one = rows.find(({ approval }) => approval.id === id)?.approval ?? detail
  if (!one) return id
  const left = isOpen(one) ? `, ${timeLeft(one.expiresAt, now)} left` : ''
  return `${one.state}${left}, ${shownText(toolOf(one))}`
}

/** The name of a connection has no colon. */
const toolOf = ({ connection, tool }: Approval): string => `${connection}: ${tool}`

function footHeight({ opened, notice }: State): number {
  return opened?.prompt && notice ? 3 : 2
}

/** Whoever decides must see that there is more: it stands first. */
function footLines(state: State, style: Style, below: number): string[] {
  const { columns, notice, opened } = state
  const text = cut(notice ? shownText(notice.text) : '', columns)
  const told = notice?.isBad ? style.bad(text) : style.good(text)
  const prompt = opened?.prompt
  const all = prompt ? promptKeys(prompt) : opened ? detailKeys : listKeys
  const last = style.dim(keys(below > 0 ? `↓ ${below} more  ${all}` : all, columns))
  if (!prompt) return [told, last]
  return [...(notice ? [told] : []), style.strong(promptLine(prompt, columns)), last]
}

function keys(text: string, columns: number): string {
  return cut(widthOf(text) > columns ? text.replaceAll('  ', ' ') : text, columns)
}

const listKeys = 'Enter show  a approve  d deny  q quit  ↑↓ select'
const detailKeys = 'Esc back  a approve  d deny  r raw  q quit  ↑↓ scroll'

function promptKeys({ decision, isSent }: Prompt): string {
  return isSent ? 'Sending …' : `Enter ${decision === 'approve' ? 'approves' : 'denies'}  Esc back`
}

/** The end of a note is what is being typed. */
function promptLine({ decision, note }: Prompt, columns: number): string {
  const question = `${decision === 'approve' ? 'Approve' : 'Deny'}? Note (may be empty): `
  const typed = shownText(note)
  const room = Math.max(1, columns - widthOf(question) - 1)
  let end = typed
  while (widthOf(end) > room) end = end.slice(1)
  return cut(`${question}${end}_`, columns)
}

function listWindow(state: State, style: Style, room: number): string[] {
  const { rows, selected, columns } = state
  if (rows.length === 0) return ['', cut('Nothing waits for a decision.', columns)].slice(0, room)
  const height = Math.max(1, room - 1)
  const at = Math.max(
    0,
    rows.findIndex(({ approval }) => approval.id === selected),
  )
  const top = Math.floor(at / height) * height
  const cells = columnsFor(columns)
  const head = cells.map(({ name, width }) => pad(cut(name, width), width)).join(' ')
  return [
    style.dim(cut(`  ${head}`, columns).trimEnd()),
    ...rows.slice(top, top + height).map(({ approval }) => {
      const line = cells.map((cell) => paintCell(cell, approval, state.now, style)).join(' ')
      return approval.id === selected ? `${style.strong('>')} ${line}` : `  ${line}`
    }),
  ].slice(0, room)
}

interface Column {
  readonly name: string
  readonly width: number
  readonly text: (one: Approval, now: number) => string
  readonly isState?: boolean
}

const state: Column = { name: 'STATE', width: 9, text: (one) => one.state, isState: true }
const left: Column = {
  name: 'LEFT',
  width: 9,
  text: (one, now) => (isOpen(one) ? timeLeft(one.expiresAt, now) : ''),
}
/** Where there is no room for both. */
const leftOrState: Column = {
  ...left,
  text: (one, now) => (one.state === 'pending' ? timeLeft(one.expiresAt, now) : one.state),
}
const who: Column = { name: 'WHO ASKS', width: 10, text: (one) => one.requester }
const caller: Column = { name: 'CALLER', width: 8, text: callerWord }

/** What there is room for; the tool gets the rest. */
function columnsFor(columns: number): readonly Column[] {
  const before =
    columns >= 72 ? [state, left, who] : columns >= 52 ? [leftOrState, who] : [leftOrState]
  const label = {
    name: 'SESSION',
    width: Math.floor(columns / 4),
    text: (one: Approval) => one.sessionLabel ?? '',
  }
  const after = columns >= 100 ? [caller, label] : [caller]
  const used = [...before, ...after].reduce((sum, { width }) => sum + width + 1, 2)
  const tool = {
    name: 'TOOL',
    width: Math.max(4, columns - used),
    text: toolOf,
  }
  return [...before, tool, ...after]
}

function paintCell(
  { width, text, isState }: Column,
  one: Approval,
  now: number,
  style: Style,
): string {
  const told = cut(shownText(text(one, now)), width)
  const cell = pad(told, width)
  if (isState) return paintState(style, told) + cell.slice(told.length)
  if (!isOpen(one)) return style.dim(cell)
  return text === callerWord && hasLeft(one) ? style.warn(cell) : cell
}

interface Window extends Frame {
  /** Lines that there is no room for. */
  readonly below: number
}

function detailWindow(state: State, opened: Opened, style: Style, room: number): Window {
  const { detail, isRaw, scroll } = opened
  if (!detail) return { lines: [cut('Fetching it …', state.columns)], scroll, below: 0 }
  const page = { style, width: Math.max(20, state.columns), now: state.now, raw: isRaw }
  const { lines, argumentsAt, argumentsEnd } = describeApproval(page, detail)
  const wanted = scroll ?? (argumentsEnd > room ? argumentsAt : 0)
  const top = Math.min(wanted, Math.max(0, lines.length - room))
  const below = Math.max(0, lines.length - top - room)
  return { lines: lines.slice(top, top + room), scroll: top, below }
}
