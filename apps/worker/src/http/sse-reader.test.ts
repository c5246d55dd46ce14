import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SseReader } from './sse-reader.ts'

/** The data of the events in a stream that arrives in these pieces. */
function read(...pieces: string[]): string[] {
  const events: string[] = []
  let current = ''
  const reader = new SseReader({
    data: (part) => {
      current += part.toString()
    },
    end: () => {
      events.push(current)
      current = ''
    },
  })
  for (const piece of pieces) reader.push(Buffer.from(piece))
  return events
}

test('events end with an empty line', () => {
  expect(read('data: one\n\ndata: two\n\n')).toEqual(['one', 'two'])
  expect(read('data: one\n\ndata: half')).toEqual(['one'])
})

test('an event without data is none: servers begin a stream with an empty one', () => {
  expect(read('id: 0\ndata: \n\n', ': a comment\n\n', 'event: message\n\n')).toEqual([])
})

test('other fields and names that only begin alike are passed over', () => {
  expect(read('event: message\nid: 7\nretry: 5\ndatum: no\ndata: yes\n\n')).toEqual(['yes'])
  expect(read('data\n\n', 'dat: no\n\n')).toEqual([])
})

test('several data lines are one event, joined by line feeds', () => {
  expect(read('data: {\ndata: "a": 1}\n\n')).toEqual(['{\n"a": 1}'])
})

test('one space after the colon is not data, a second one is', () => {
  expect(read('data:x\n\n', 'data: x\n\n', 'data:  x\n\n')).toEqual(['x', 'x', ' x'])
})

test.each(['\n', '\r\n', '\r'])('lines may end with %j, wherever the stream is cut', (end) => {
  const stream = [
    'id: 0',
    'data:',
    '',
    'event: m',
    'data: {"a":',
    'data: "b"}',
    '',
    'data: c',
    '',
    '',
  ]
  const whole = stream.join(end)
  fc.assert(
    fc.property(fc.array(fc.nat(whole.length), { maxLength: 6 }), (cuts) => {
      const places = [0, ...cuts.sort((a, b) => a - b), whole.length]
      const pieces = places.slice(1).map((to, index) => whole.slice(places[index], to))
      expect(read(...pieces)).toEqual(['{"a":\n"b"}', 'c'])
    }),
  )
})
