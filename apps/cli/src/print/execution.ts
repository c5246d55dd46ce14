/** A row of the journal as a person reads it. */
import type { Answer } from '@sallyport/protocol'
import { asciiJson } from './ascii-json.ts'
import { type Fact, factLines } from './fact-lines.ts'
import { formattedJson } from './json-lines.ts'
import type { Style } from './style.ts'
import { moment } from './table.ts'

export type Execution = Answer<'execution.list'>['items'][number]

/** Lines that fit the width; nothing is cut. */
export function describeExecution(
  style: Style,
  width: number,
  one: Execution & Partial<Answer<'execution.show'>>,
): string[] {
  const body = (title: string, text: string | null | undefined): string[] =>
    text ? ['', style.strong(title), ...formattedJson(text, width)] : []
  return [
    ...factLines(style, [...aboutCall(one), ...aboutWrite(one), ...times(one)], width),
    ...body('arguments', one.arguments),
    ...body('result', one.result),
  ]
}

function aboutCall(one: Execution): Fact[] {
  return [
    ['id', one.id],
    ['state', one.state],
    ['connection', one.connection],
    ['tool', one.tool],
    ['mode', one.mode],
    ['access', one.access],
    ['code', one.code],
    ['field', one.field],
    ['session', one.sessionId],
    ['call', one.callId],
    ['arguments', one.argumentsDigest],
    ['binding', one.bindingHash],
    ['intent', one.intentId],
    ['result', one.resultDigest],
    ['result bytes', one.resultBytes],
  ]
}

function aboutWrite({ approvalId, caller, collectedAt, resolution }: Execution): Fact[] {
  return [
    ['approval', approvalId ?? undefined],
    ['caller', caller?.replace('_', ' ') ?? undefined],
    ['collected', collectedAt ?? undefined],
    ...(resolution ? resolutionFacts(resolution) : []),
  ]
}

function resolutionFacts(resolution: NonNullable<Execution['resolution']>): Fact[] {
  const { outcome, by, note, at, allowRetry } = resolution
  return [
    ['resolved', `${outcome.replace('_', ' ')}, by ${by} at ${moment(at)}`],
    ['note', note],
    ['next call', allowRetry ? 'is a new call' : 'is answered with this, once'],
  ]
}

function times(one: Execution): Fact[] {
  return [
    ['arrived', one.arrivedAt],
    ['barrier', one.barrierAt],
    ['not after', one.notAfter],
    ['finished', one.finishedAt],
    ['took', took(one)],
    ['notes', asciiJson(one.notes)],
  ]
}

export function took({ tookMs }: Execution): string | null {
  return tookMs === null ? null : `${Math.round(tookMs)} ms`
}
