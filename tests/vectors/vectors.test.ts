/** The vectors by HTTP and by every way of the shim: the answers are those that are written down, and the same text each. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Message, Shim } from '../shim/start-shim.ts'
import { makePlace, type Place, type ShimWay, shimWays } from '../shim/ways.ts'
import { type Expected, type Vector, vectors } from './vectors.ts'

let place: Place
const shims = new Map<ShimWay, Shim>()
beforeAll(async () => {
  place = await makePlace({ read: ['counter_read', 'echo', 'fails'] })
  for (const way of shimWays) shims.set(way, await place.session.shim(way))
})
afterAll(async () => {
  await place?.remove()
})

/** What is answered over HTTP, as text; undefined when nothing is. */
async function byHttp({ line }: Vector): Promise<string | undefined> {
  const body = Buffer.concat(piecesOf(line))
  const message = parsed(body)
  const { _meta, name } = (message?.params ?? {}) as Message
  const version = _meta?.['io.modelcontextprotocol/protocolVersion']
  const headers: Record<string, string> = {
    authorization: `Bearer ${place.session.token}`,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  }
  if (typeof version === 'string') headers['mcp-protocol-version'] = version
  if (version === '2026-07-28') headers['mcp-method'] = String(message.method)
  if (version === '2026-07-28' && name) headers['mcp-name'] = encoded(name)
  const answer = await fetch(`${place.sallyport.guestUrl}/mcp`, { method: 'POST', headers, body })
  return (await answer.text()) || undefined
}

const encoded = (name: string): string =>
  /^[\x21-\x7e]+$/.test(name) ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`

async function byShim(shim: Shim, { line, answer }: Vector): Promise<string | undefined> {
  const before = shim.lines.length
  for (const piece of piecesOf(line)) shim.write(piece)
  shim.write('\n')
  if (answer !== undefined) {
    await shim.until(() => shim.lines.length > before)
  } else {
    // Whatever came of it would be there before the answer to what comes after.
    await shim.ask('ping', {}, `after ${before}`)
    expect(shim.lines.slice(before)).toHaveLength(1)
    return undefined
  }
  expect(shim.lines.slice(before)).toHaveLength(1)
  return shim.lines[before]
}

function piecesOf(line: Vector['line']): Buffer[] {
  const pieces = Array.isArray(line) ? line : [line]
  return pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece))
}

function parsed(body: Buffer): Message | undefined {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

function check(text: string | undefined, expected: Expected | undefined, id?: null): void {
  if (expected === undefined || typeof expected === 'string') {
    expect(text).toBe(expected)
    return
  }
  const message = JSON.parse(text as string)
  expect(message.id).toEqual(id === null ? null : expected.id)
  if ('error' in expected) {
    expect(message.error?.code, text).toBe(expected.error)
    expect(message.error.message).toContain(expected.says ?? '')
  } else {
    expect(message.result?.isError ?? false, text).toBe(expected.result === 'error')
    expect(text).toContain(expected.has ?? '')
  }
}

/** What differs from one call to the next. */
const masked = (text: string | undefined): string | undefined =>
  text?.replace(/exe_[0-9a-z]+/g, 'exe').replace(/^(\{"jsonrpc":"2\.0","id":)(?:1|null)/, '$1_')

describe.each(vectors)('$what', (vector) => {
  let reference: string | undefined
  test('over HTTP', async () => {
    reference = await byHttp(vector)
    check(reference, vector.answer, vector.isUnread ? null : undefined)
  })
  test.each(shimWays)('by the shim on %s', async (way) => {
    const text = await byShim(shims.get(way) as Shim, vector)
    check(text, vector.answer)
    expect(masked(text)).toBe(masked(reference))
  })
})

test('nothing of all this changed the counter', () => {
  expect(place.upstream.state.effects).toBe(0)
})

test('blank lines are no messages', async () => {
  for (const shim of shims.values()) {
    const before = shim.lines.length
    shim.write('\n\r\n  \n\t\n')
    await shim.ask('ping', {}, 'after blanks')
    expect(shim.lines.slice(before)).toHaveLength(1)
  }
})

test('messages in one piece are answered each', async () => {
  for (const shim of shims.values()) {
    const ids = [101, 102, 103]
    const lines = ids.map((id) => `{"jsonrpc":"2.0","id":${id},"method":"ping"}\n`)
    shim.write(lines.join(''))
    for (const id of ids) expect((await shim.answer(id)).result).toEqual({})
  }
})
