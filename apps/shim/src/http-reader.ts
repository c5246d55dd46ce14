/**
 * Reads one HTTP/1.1 response from bytes. Written by hand because node:http alone is more than the whole shim may cost in
 * memory and start-up. What it does not know it throws at: the connection is then given up.
 */
import { end } from './link.ts'

export interface ResponseEvents {
  readonly head: (status: number, headers: Readonly<Record<string, string>>) => void
  readonly body: (bytes: Buffer) => void
  /** `reusable`: another request may follow on the same connection. */
  readonly done: (reusable: boolean) => void
}

const headLimit = 65_536

export function httpReader(on: ResponseEvents): (bytes: Buffer) => void {
  let state: 'head' | 'sized' | 'chunk' | 'data' | 'trailer' | 'done' = 'head'
  let held = end
  let left = 0
  let isReusable = true
  const finish = (): void => {
    state = 'done'
    on.done(isReusable && held.length === 0)
  }
  const head = (text: string): void => {
    const [first = '', ...lines] = text.split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d+)/.exec(first)?.[1])
    const headers: Record<string, string> = {}
    for (const line of lines) {
      const colon = line.indexOf(':')
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
    }
    // What comes before the answer.
    if (status >= 100 && status < 200 && status !== 101) return
    isReusable = !/close/i.test(headers['connection'] ?? '')
    left = Number(headers['content-length'] ?? (status === 204 ? 0 : Number.NaN))
    state = /^chunked$/i.test(headers['transfer-encoding'] ?? '') ? 'chunk' : 'sized'
    if (!(status >= 200) || (state === 'sized' && !(left >= 0))) throw unknown()
    on.head(status, headers)
    if (state === 'sized' && left === 0) finish()
  }
  /** Lines before a chunk: its size, behind the empty line that ends the one before. */
  const size = (text: string): void => {
    if (text === '') return
    left = Number.parseInt(text, 16)
    if (!(left >= 0)) throw unknown()
    state = left === 0 ? 'trailer' : 'data'
  }
  const data = (): boolean => {
    const bytes = held.subarray(0, left)
    held = held.subarray(bytes.length)
    left -= bytes.length
    if (bytes.length > 0) on.body(bytes)
    if (left > 0) return false
    if (state === 'sized') finish()
    else state = 'chunk'
    return true
  }
  const step = (): boolean => {
    if (state === 'done') return false
    if (state === 'sized' || state === 'data') return data()
    const mark = state === 'head' ? '\r\n\r\n' : '\r\n'
    const at = held.indexOf(mark)
    if (at < 0) return false
    const text = held.toString('latin1', 0, at)
    held = held.subarray(at + mark.length)
    if (state === 'head') head(text)
    else if (state === 'chunk') size(text)
    else if (text === '') finish()
    return true
  }
  return (bytes) => {
    held = Buffer.concat([held, bytes])
    while (step());
    if (held.length > headLimit) throw unknown()
  }
}

const unknown = (): Error => new Error()
