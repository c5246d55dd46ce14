/** A record is a request, never evidence of anything: what it must be before it is asked at all. */
import { type ErrorCode, release, requestRecord } from '@sallyport/protocol'
import { type RequestRecord, recordVersion } from '@sallyport/protocol/shim'

/** A request that lay longer, or is dated further ahead, is of another turn. */
const freshMs = 60_000

export type Judged =
  | { readonly ok: true; readonly record: RequestRecord }
  | { readonly ok: false; readonly code: ErrorCode }

/** `value` is whatever JSON was there; `limit` counts the message's bytes. */
export function judgeRecord(value: unknown, now: number, limit: number): Judged {
  if (isOfOtherRelease(value)) return { ok: false, code: 'wrong_shim' }
  const read = requestRecord.safeParse(value)
  if (!read.success) return { ok: false, code: 'bad_record' }
  const record = read.data
  if (!(Math.abs(now - record.at) <= freshMs)) return { ok: false, code: 'stale_record' }
  if (Buffer.byteLength(record.message) > limit) return { ok: false, code: 'too_large' }
  return { ok: true, record }
}

/** Its version and release are looked at first: what else it holds may have another form by then. */
function isOfOtherRelease(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { v = recordVersion, release: theirs = release } = value as Partial<RequestRecord>
  return v !== recordVersion || theirs !== release
}
