/** An outcome of an identical earlier call says so, in one text block that is added to it; every other byte stays. */
import type { CallOutcome, Earlier } from '@sallyport/core'
import { withFirstMember } from './result-type.ts'
import { memberSpan } from './scan-message.ts'

type Result = Extract<CallOutcome, { kind: 'result' }>

export function earlierSentence({ finishedAt }: Earlier): string {
  const when = new Date(finishedAt).toISOString()
  return `This is the outcome of an identical earlier call, which ended at ${when}. Nothing was sent now.`
}

/** The result with that block at the end of its `content`. A `content` that is no list becomes the text of a block. */
export function markedResult({ result, executionId }: Result, earlier: Earlier): Buffer {
  const note = textBlock(`${earlierSentence(earlier)}\nExecution: ${executionId}`)
  // One character a byte: places in the text are places in the bytes, whatever is written there.
  const json = result.toString('latin1')
  if (!/^\s*\{/.test(json)) return Buffer.from(`{"content":[${textBlock(utf8(json))},${note}]}`)
  const span = memberSpan(json, 'content')
  if (!span) return withFirstMember(result, Buffer.from(`"content":[${note}]`))
  const [start, end] = span
  if (json[start] !== '[')
    return spliced(result, start, end, `[${textBlock(utf8(json.slice(start, end)))},${note}]`)
  const isEmpty = json.slice(start + 1, end - 1).trim() === ''
  return spliced(result, end - 1, end - 1, isEmpty ? note : `,${note}`)
}

function textBlock(text: string): string {
  return JSON.stringify({ type: 'text', text })
}

function utf8(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString('utf8')
}

function spliced(bytes: Buffer, start: number, end: number, text: string): Buffer {
  return Buffer.concat([bytes.subarray(0, start), Buffer.from(text), bytes.subarray(end)])
}
