/** An approval as whoever decides reads it. What guests and servers said is escaped, and stays behind margins. */
import type { Answer } from '@sallyport/protocol'
import { digestBytes } from '@sallyport/protocol/node'
import { type Fact, factLines, marginLines } from './fact-lines.ts'
import { formattedJson, rawJson } from './json-lines.ts'
import type { Style } from './style.ts'
import { cellText, count, moment } from './table.ts'
import { age, timeLeft } from './time.ts'
import { wrap } from './width.ts'

export type Approval = Answer<'approval.list'>['items'][number]
export type ApprovalDetail = Answer<'approval.show'>
type Execution = Answer<'execution.list'>['items'][number]

export interface Page {
  readonly style: Style
  /** Columns. */
  readonly width: number
  readonly now: number
  /** The exact arguments instead of the formatted ones. */
  readonly raw: boolean
}

export interface Description {
  readonly lines: readonly string[]
  /** Where its arguments begin, with their title, and end. */
  readonly argumentsAt: number
  readonly argumentsEnd: number
}

/** Lines that fit the width; nothing is cut. What decides comes first. */
export function describeApproval(page: Page, one: ApprovalDetail): Description {
  const before = [
    warningLines(page, one),
    factLines(page.style, aboutCall(one, page.now), page.width),
  ]
  const sent = titled(page, page.raw ? 'arguments, exact' : 'arguments', argumentLines(page, one))
  const behind = [
    factLines(page.style, aboutDecision(one), page.width),
    earlier(page, 'calls of this tool whose outcome is unknown', one.unknown),
    earlier(page, 'identical calls of the last day', one.identical),
    one.description === null
      ? []
      : titled(page, 'what the server says of the tool', marginLines(one.description, page.width)),
    factLines(page.style, ids(one), page.width),
  ]
  const argumentsAt = parted(before).length + 1
  return {
    lines: parted([...before, sent, ...behind]),
    argumentsAt,
    argumentsEnd: argumentsAt + sent.length,
  }
}

/** With an empty line between blocks. */
function parted(blocks: readonly (readonly string[])[]): string[] {
  return blocks
    .filter((lines) => lines.length > 0)
    .flatMap((lines, at) => (at === 0 ? lines : ['', ...lines]))
}

function aboutCall(one: ApprovalDetail, now: number): Fact[] {
  return [
    ['state', one.state],
    timeOf(one, now),
    ['who asks', one.requester],
    ['connection', one.connection],
    ['tool', one.tool],
    ['caller', callerText(one), (style, text) => (hasLeft(one) ? style.warn(text) : text)],
    ['before', before(one), (style, text) => style.warn(text)],
  ]
}

function aboutDecision(one: ApprovalDetail): Fact[] {
  const label = one.sessionLabel === null ? '' : ` (${one.sessionLabel})`
  return [
    ['fixed', one.fixed.length ? `${one.fixed.join(', ')} (set by the grant)` : undefined],
    ['needs', needs(one)],
    ...decisionFacts(one),
    ['you', mayDecide(one)],
    ['session', `${one.sessionId}${label}`],
  ]
}

function decisionFacts({ decisions }: Approval): Fact[] {
  if (decisions.length === 0) return [['decisions', 'none']]
  return decisions.map(({ by, decision, note, at }, nth) => [
    nth === 0 ? 'decisions' : '',
    `${decision === 'approve' ? 'approved' : 'denied'} by ${by} at ${moment(at)}${note === null ? '' : `: ${note}`}`,
  ])
}

function before({ identical, unknown }: ApprovalDetail): string | undefined {
  const told = [
    ...(unknown.length ? [`${count(unknown.length, 'unknown outcome')} of this tool`] : []),
    ...(identical.length ? [`${count(identical.length, 'identical call')} in the last day`] : []),
  ]
  return told.length ? `${told.join(', ')}; see below` : undefined
}

function ids(one: ApprovalDetail): Fact[] {
  return [
    ['approval', one.id],
    ['execution', one.executionId],
    ['call', one.callId],
    ['digest', one.argumentsDigest],
    ['binding', one.bindingHash],
  ]
}

function needs({ approvers, excludesRequester, requester }: Approval): string {
  if (approvers === 'owner') return `the owner of the session (${requester})`
  const others =
    approvers === 'two' ? 'approvers, administrators' : `role ${approvers.slice(5)} and above`
  const who = excludesRequester ? `${others}, but not ${requester}` : `${requester}, ${others}`
  return `${approvers === 'two' ? 'two' : 'one'} of: ${who}`
}

function mayDecide({ mayApprove, mayDeny }: Approval): string {
  if (mayApprove) return mayDeny ? 'may approve and deny' : 'may approve'
  return mayDeny ? 'may deny, not approve' : 'may not decide'
}

export function isOpen({ state }: Approval): boolean {
  return state === 'pending' || state === 'approved'
}

function timeOf(one: Approval, now: number): Fact {
  const { expiresAt, closedAt } = one
  if (isOpen(one)) return ['time left', `${timeLeft(expiresAt, now)} (until ${moment(expiresAt)})`]
  return ['closed', moment(closedAt)]
}

export function hasLeft({ caller }: Approval): boolean {
  return caller === 'detached' || caller === 'held_back'
}

/** What it means for the call is said as well: nobody should have to know the protocol. */
function callerText({ caller }: Approval): string | null {
  switch (caller) {
    case 'attached':
      return 'waits for the answer'
    case 'detached':
      return 'has left. Approved, the call is sent without it; the outcome waits until it is asked for'
    case 'held_back':
      return 'has left and took the call back. Approved, it is sent only when the same call comes again'
    case 'collected':
      return 'has the outcome'
    case null:
      return null
  }
}

function warningLines({ style, width }: Page, one: ApprovalDetail): string[] {
  const texts = [
    ...(one.notSeparated ? [notSeparated] : []),
    ...(!one.notSeparated && one.directAccess === 'not_denied' ? [notDenied] : []),
    // The digest is what is approved; the text is only what is shown of it.
    ...(one.arguments !== null && digestBytes(one.arguments) !== one.argumentsDigest
      ? ['These are not the arguments of the digest. Do not approve; tell the operator.']
      : []),
  ]
  return texts.flatMap((text) => wrap(`! ${text}`, width).map((line) => style.bad(line)))
}

const notSeparated =
  'The sandbox is not separated from what the call reaches: the guest could do it without asking.'

const notDenied =
  'Direct access is not denied: nobody says that the guest is kept from reaching the server by itself.'

function argumentLines({ width, raw }: Page, one: ApprovalDetail): string[] {
  if (one.arguments === null) return ['| not kept, or not shown to you']
  return (raw ? rawJson : formattedJson)(one.arguments, width)
}

function earlier(page: Page, title: string, executions: readonly Execution[]): string[] {
  if (executions.length === 0) return []
  const lines = executions.flatMap((one) => {
    const code = one.code === null ? '' : `, ${one.code}`
    const text = `${one.id}  ${one.state}${code}, ${age(one.arrivedAt, page.now)} ago`
    return wrap(cellText(text), page.width - 2).map((line) => page.style.warn(`  ${line}`))
  })
  return titled(page, `${title}: ${executions.length}`, lines)
}

function titled({ style, width }: Page, title: string, lines: readonly string[]): string[] {
  return [...wrap(title, width).map((line) => style.strong(line)), ...lines]
}

/** Short, for lists. */
export function callerWord(one: Approval): string {
  if (one.caller === 'attached') return 'waits'
  return hasLeft(one) ? 'has left' : ''
}
