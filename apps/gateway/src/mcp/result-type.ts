/** What 2026-07-28 demands of a result and earlier eras do not know. */
import { scanMessage } from './scan-message.ts'

const resultType = Buffer.from('"resultType":"complete"')
const usualStart = [...Buffer.from('{"resultType":')]
const nothing = Buffer.alloc(0)
const comma = Buffer.from(',')

/** A result of an earlier era has no `resultType`; it is spliced in, and nothing else is touched. */
export function withResultType(result: Buffer): Buffer {
  if (usualStart.every((byte, at) => result[at] === byte)) return result
  if (result.includes('"resultType"')) {
    const scan = scanMessage(result.toString('utf8'))
    if (scan.kind !== 'object' || scan.message.has('resultType')) return result
  }
  return withFirstMember(result, resultType)
}

/** `member` is JSON text of key and value. What is not an object stays as it is. */
export function withFirstMember(result: Buffer, member: Buffer): Buffer {
  const start = afterBlanks(result, 0)
  if (result[start] !== 123) return result
  const isEmpty = result[afterBlanks(result, start + 1)] === 125
  const head = result.subarray(0, start + 1)
  return Buffer.concat([head, member, isEmpty ? nothing : comma, result.subarray(start + 1)])
}

function afterBlanks(json: Buffer, from: number): number {
  let at = from
  while (json[at] === 32 || json[at] === 10 || json[at] === 13 || json[at] === 9) at++
  return at
}
