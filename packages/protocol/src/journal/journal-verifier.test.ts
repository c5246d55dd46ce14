import { describe, expect, test } from 'vitest'
import type { ExecutionRecord } from './execution-book.ts'
import type { Finding } from './finding.ts'
import { JournalVerifier } from './journal-verifier.ts'
import { headerLine, keyLine } from './line.ts'
import { batchOf, composePage, signOpening } from './page.ts'
import { SampleJournal, sampleEvent, sampleSigner, start } from './sample-journal.ts'

function verify(lines: readonly string[]) {
  const verifier = new JournalVerifier()
  for (const line of lines) verifier.add(line)
  return verifier.report()
}

const found = (lines: readonly string[]): readonly Finding[] => verify(lines).findings

/**
 * Two streams and three executions, one of which goes from one stream to the other. Lines: 0 header, 1 key, 2 page a 1–2,
 * 3 page b 1, 4 checkpoint 1, 5 page a 3, 6 page b 2–3, 7 checkpoint 2, 8 page a 4, 9 checkpoint 3, 10 end.
 */
function sample(): string[] {
  const journal = new SampleJournal()
  journal.page('a', sampleEvent('x', 1, 'dispatching'), sampleEvent('y', 1, 'refused'))
  journal.page('b', sampleEvent('x', 2, 'claimed'))
  journal.checkpoint()
  journal.page('a', sampleEvent('z', 1, 'dispatching'))
  journal.page('b', sampleEvent('x', 3, 'succeeded'), sampleEvent('z', 2, 'unknown'))
  journal.checkpoint()
  journal.page('a', sampleEvent('z', 3, 'resolved'))
  journal.checkpoint()
  return journal.lines()
}

const without = (...gone: readonly number[]): string[] =>
  sample().filter((_, at) => !gone.includes(at))

function swapped(one: number, other: number): string[] {
  const lines = sample()
  ;[lines[one], lines[other]] = [lines[other] as string, lines[one] as string]
  return lines
}

const edited = (at: number, from: string | RegExp, to: string): string[] =>
  sample().map((line, i) => (i === at ? line.replace(from, to) : line))

test('finds nothing in a whole journal, and says what it has seen', () => {
  expect(verify(sample())).toEqual({
    from: null,
    checked: { streams: 2, pages: 5, events: 7, executions: 3, checkpoints: 3, rows: 0 },
    newestCheckpoint: { sequence: 3, at: start },
    notYetCovered: 0,
    keys: [{ kid: sampleSigner().kid, checkpoints: 3, streams: 2 }],
    findings: [],
    more: 0,
  })
})

describe('finds, with its place,', () => {
  test.each([
    ['a changed event', edited(5, '"kind":"dispatching"', '"kind":"refused"')],
    ['a changed time', edited(5, `"at":${start}`, `"at":${start + 1}`)],
    ['a space in the text', edited(5, '"kind"', ' "kind"')],
    ['a changed hash', edited(5, '"hash":"sha256:', '"hash":"sha256:0')],
    ['text that is no JSON any more', edited(5, /,"page":.*/, ',"damaged":"{\\"v\\":1"}')],
    ['another end', edited(5, '"last":3', '"last":2')],
  ])('%s', (_, lines) => {
    expect(found(lines)).toContainEqual({ kind: 'page_changed', stream: 'a', sequence: 3 })
  })

  test('a page that was changed and hashed again', () => {
    const journal = new SampleJournal()
    const page = journal.page('a', sampleEvent('x', 1, 'refused'))
    journal.page('a', sampleEvent('y', 1, 'refused'))
    journal.checkpoint()
    const lines = journal.lines()
    const forged = composePage({ ...JSON.parse(page.text), at: start - 1 })
    const line = {
      ...JSON.parse(lines[2] as string),
      hash: forged.hash,
      page: JSON.parse(forged.text),
    }
    lines[2] = JSON.stringify(line)
    expect(found(lines)).toEqual([{ kind: 'page_unlinked', stream: 'a', sequence: 2 }])
  })

  test('the newest page, changed and hashed again: a checkpoint knows another', () => {
    const journal = new SampleJournal()
    const page = journal.page('a', sampleEvent('x', 1, 'refused'))
    journal.checkpoint()
    const forged = composePage({ ...JSON.parse(page.text), at: start - 1 })
    const lines = journal.lines().map((line) => line.replace(page.hash, forged.hash))
    lines[2] = (lines[2] as string).replace(page.text, forged.text)
    expect(found(lines)).toEqual([
      { kind: 'head_differs', stream: 'a', sequence: 1, checkpoint: 1 },
    ])
  })

  test('a removed page', () => {
    expect(found(without(5))).toEqual([
      { kind: 'page_missing', stream: 'a', sequence: 3 },
      { kind: 'execution_gap', execution: 'z', stream: 'b', sequence: 3 },
    ])
  })

  test('a removed beginning', () => {
    expect(found(without(2))).toContainEqual({ kind: 'page_missing', stream: 'a', sequence: 1 })
  })

  test('a page in another place', () => {
    expect(found(swapped(5, 8))).toContainEqual({
      kind: 'page_out_of_order',
      stream: 'a',
      sequence: 3,
    })
  })

  test('a page that is there twice', () => {
    const lines = sample()
    lines.splice(6, 0, lines[5] as string)
    expect(found(lines)).toContainEqual({ kind: 'page_repeated', stream: 'a', sequence: 3 })
  })

  test('a tail that was cut off', () => {
    expect(found(without(8))).toEqual([
      { kind: 'tail_missing', stream: 'a', sequence: 4, checkpoint: 3 },
    ])
    expect(found(without(6, 8))).toContainEqual({
      kind: 'tail_missing',
      stream: 'b',
      sequence: 2,
      checkpoint: 2,
    })
  })

  test('a stream that is gone', () => {
    expect(found(without(3, 6))).toContainEqual({
      kind: 'stream_missing',
      stream: 'b',
      sequence: 1,
      checkpoint: 1,
    })
  })

  test.each([
    ['a changed signature', edited(7, /("jws":"[^"]*\.[^"]*\.)(.)/, '$1!')],
    ['a changed content', edited(7, /("jws":"[^"]*\.)(...)/, '$1AAA')],
    ['a changed time', edited(7, `"at":${start}`, `"at":${start + 1}`)],
    ['a changed place', edited(7, '"position":4', '"position":5')],
  ])('%s of a checkpoint', (_, lines) => {
    expect(found(lines)).toContainEqual({ kind: 'checkpoint_changed', checkpoint: 2 })
  })

  test('another spelling of the same signature', () => {
    const lines = sample()
    const last = (lines[9] as string).replace(/(.)"\}\}$/, (_, char: string) => {
      const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
      return `${alphabet[alphabet.indexOf(char) + 1]}"}}`
    })
    lines[9] = last
    expect(found(lines)).toContainEqual({ kind: 'checkpoint_changed', checkpoint: 3 })
  })

  test('a removed checkpoint, and one in another place', () => {
    expect(found(without(4))).toEqual([{ kind: 'checkpoint_missing', checkpoint: 1 }])
    expect(found(without(9))).toContainEqual({ kind: 'checkpoint_missing', checkpoint: 3 })
    expect(found(swapped(4, 7))).toContainEqual({
      kind: 'checkpoint_out_of_order',
      checkpoint: 1,
    })
  })

  test('a checkpoint that another was put before', () => {
    const other = new SampleJournal()
    other.at = start + 1
    other.checkpoint([])
    const lines = sample()
    lines[4] = other.lines()[2] as string
    expect(found(lines)).toContainEqual({ kind: 'checkpoint_unlinked', checkpoint: 2 })
  })

  test('a checkpoint that a stranger signed, with and without his key', () => {
    const stranger = sampleSigner(2)
    const journal = new SampleJournal(stranger)
    journal.checkpoint([])
    const lines = sample()
    lines[4] = journal.lines()[2] as string
    expect(found(lines)).toContainEqual({
      kind: 'key_unknown',
      checkpoint: 1,
      kid: stranger.kid,
    })
    const { kid } = sampleSigner()
    lines[1] = keyLine({ kid, jwk: stranger.jwk, at: start })
    expect(found(lines)).toContainEqual({ kind: 'key_changed', kid })
  })

  test.each([
    ['nobody', undefined],
    ['a stranger', signOpening({ stream: 'a', instance: 'ins_a' }, sampleSigner(2))],
    [
      'its gateway as another stream',
      signOpening({ stream: 'b', instance: 'ins_a' }, sampleSigner()),
    ],
    ['another gateway', signOpening({ stream: 'a', instance: 'ins_b' }, sampleSigner())],
  ])('a stream that was begun by %s', (_, opening) => {
    const content = { v: 1, stream: 'a', first: 1, previous: null, instance: 'ins_a' } as const
    const events = [sampleEvent('x', 1, 'refused')]
    const begun = (signed: string | undefined) => {
      const { text, hash } = composePage({ ...content, opening: signed, at: start, events })
      const page = `{"stream":"a","first":1,"last":1,"hash":"${hash}","page":${text}}`
      return [...sample().slice(0, 2), page, '{"end":{"checkpoint":null}}']
    }
    expect(found(begun(opening))).toEqual([{ kind: 'stream_unsigned', stream: 'a' }])
    const right = signOpening({ stream: 'a', instance: 'ins_a' }, sampleSigner())
    expect(found(begun(right))).toEqual([])
  })

  test('an end that is missing, and lines that are none', () => {
    expect(found(without(10))).toEqual([{ kind: 'cut_off', line: 10 }])
    const lines = sample()
    lines.splice(3, 0, '{"half":', '{"something":"else"}')
    expect(found(lines)).toEqual([
      { kind: 'unreadable_line', line: 4 },
      { kind: 'unreadable_line', line: 5 },
    ])
  })

  test('a batch that is not that of its intents', () => {
    const intents = ['one', 'two'].map((text) => `sha256:${text}`)
    const page = (batch: readonly string[]) => {
      const events = intents.map((intentDigest, at) =>
        sampleEvent(`x${at}`, 1, 'dispatching', { intentDigest }),
      )
      const opening = signOpening({ stream: 'a', instance: 'i' }, sampleSigner())
      const content = {
        v: 1,
        stream: 'a',
        first: 1,
        previous: null,
        instance: 'i',
        opening,
      } as const
      const { text, hash } = composePage({ ...content, at: start, batch: batchOf(batch), events })
      return `{"stream":"a","first":1,"last":2,"hash":"${hash}","page":${text}}`
    }
    const [header, key] = sample() as [string, string]
    const lines = (batch: readonly string[]) => [
      ...[header, key, page(batch)],
      '{"end":{"checkpoint":null}}',
    ]
    expect(found(lines(intents))).toEqual([])
    expect(found(lines(intents.toReversed()))).toEqual([
      { kind: 'batch_differs', stream: 'a', sequence: 1 },
    ])
  })
})

describe('of what no checkpoint knows', () => {
  /** One page; the journal is read so many milliseconds later. */
  function uncovered(later: number) {
    const journal = new SampleJournal()
    journal.page('a', sampleEvent('x', 1, 'refused'))
    journal.at += later
    return verify(journal.lines())
  }

  test('accepts what is younger than ten minutes, and says how much', () => {
    expect(uncovered(600_000)).toMatchObject({ findings: [], notYetCovered: 1 })
  })

  test('finds what is older, so that nobody can add to it', () => {
    const finding = { kind: 'not_covered', stream: 'a', sequence: 1 }
    expect(uncovered(600_001)).toMatchObject({ findings: [finding], notYetCovered: 0 })
  })
})

describe('a part', () => {
  /** As it is exported from checkpoint 2 on. */
  const part = () => [
    headerLine({ v: 1, at: start, from: { checkpoint: 2 } }),
    ...without(0, 2, 3, 4),
  ]

  test('verifies from its first checkpoint on, and says from where', () => {
    expect(verify(part())).toMatchObject({
      from: { checkpoint: 2 },
      findings: [],
      checked: { pages: 3, checkpoints: 2 },
    })
  })

  test('may begin with streams that its first checkpoint lists, and without them', () => {
    const lines = part().filter(
      (line) => !line.includes('"first":3') && !line.includes('"first":2'),
    )
    expect(found(lines)).toEqual([])
  })

  test('is not whole without what later checkpoints list', () => {
    const lines = part().filter((line) => !line.includes('"first":4'))
    expect(found(lines)).toEqual([
      { kind: 'tail_missing', stream: 'a', sequence: 4, checkpoint: 3 },
    ])
  })
})

describe('rows', () => {
  const row = { id: 'x', state: 'succeeded', sequence: 2, tool: 'search', code: null }

  function recordOf(
    ...events: Parameters<typeof sampleEvent>[]
  ): [JournalVerifier, ExecutionRecord] {
    const ended: ExecutionRecord[] = []
    const verifier = new JournalVerifier((record) => ended.push(record))
    const journal = new SampleJournal()
    journal.page('a', ...events.map((event) => sampleEvent(...event)))
    for (const line of journal.lines()) verifier.add(line)
    return [verifier, (ended[0] ?? verifier.open()[0]) as ExecutionRecord]
  }

  const whole = () =>
    recordOf(
      ['x', 1, 'dispatching', { tool: 'search', sessionId: 's' }],
      ['x', 2, 'succeeded', { code: null }],
    )

  test('agree with what the journal tells, which may be less', () => {
    const [verifier, record] = whole()
    expect(record.facts).toEqual({
      gatewayInstance: 'ins_a',
      tool: 'search',
      sessionId: 's',
      code: null,
    })
    const same = { ...row, sessionId: 's', gatewayInstance: 'ins_a', connectionName: 'not told' }
    expect(verifier.compare(record, same)).toBe(true)
    expect(verifier.report()).toMatchObject({ findings: [], checked: { rows: 1 } })
  })

  test.each([
    ['state', { state: 'tool_error' }],
    ['sequence', { sequence: 3 }],
    ['tool', { tool: 'other' }],
    ['code', { code: 'upstream_error' }],
    ['gatewayInstance', { gatewayInstance: 'ins_b' }],
  ])('differ in %s', (field, change) => {
    const [verifier, record] = whole()
    const changed = { ...row, sessionId: 's', gatewayInstance: 'ins_a', ...change }
    expect(verifier.compare(record, changed)).toBe(true)
    expect(verifier.report().findings).toEqual([
      { kind: 'row_differs', execution: 'x', stream: 'a', sequence: 2, field },
    ])
  })

  test('are missing', () => {
    const [verifier, record] = whole()
    verifier.compare(record, undefined)
    expect(verifier.report().findings).toEqual([
      { kind: 'row_missing', execution: 'x', stream: 'a', sequence: 2 },
    ])
  })

  test('may be ahead while an execution is open, if more of the journal says so', () => {
    const [verifier, record] = recordOf(['x', 1, 'dispatching', {}])
    expect(verifier.compare(record, { ...row, sequence: 2 })).toBe(false)
    expect(verifier.report().findings).toEqual([])
    verifier.ahead(record)
    expect(verifier.report().findings).toMatchObject([{ kind: 'row_differs', field: 'sequence' }])
  })
})

test('keeps no more than twenty findings of a kind, and counts the rest', () => {
  const journal = new SampleJournal()
  for (let n = 1; n <= 60; n++) journal.page('a', sampleEvent(`x${n}`, 1, 'refused'))
  journal.checkpoint()
  const lines = journal.lines().map((line) => line.replace('"kind":"refused"', '"kind":"lost"'))
  const { findings, more } = verify(lines)
  expect([findings.length, more]).toEqual([20, 40])
})

test('passes over kinds and fields of a later release', () => {
  const journal = new SampleJournal()
  journal.page('a', sampleEvent('x', 1, 'dispatching'))
  journal.page('a', {
    ...sampleEvent('x', 2, 'thought_about' as never),
    ...{ by: 'usr_1' },
  })
  journal.page('a', sampleEvent('x', 3, 'succeeded'))
  journal.checkpoint()
  expect(found(journal.lines())).toEqual([])
})
