import { expect, test } from 'vitest'
import { KeyReader } from './keys.ts'

const named = (name: string) => ({ kind: 'named', name })
const typed = (text: string) => ({ kind: 'typed', text })

test.each([
  ['\x1b[A\x1b[B\x1bOA', [named('up'), named('down'), named('up')]],
  [
    '\x1b[5~\x1b[6~\x1b[H\x1b[4~',
    [named('pageUp'), named('pageDown'), named('home'), named('end')],
  ],
  ['jé👍 ', [typed('j'), typed('é'), typed('👍'), typed(' ')]],
  ['\r\n\x7f\b', [named('enter'), named('enter'), named('backspace'), named('backspace')]],
  ['\x03\x1a\x0c', [named('interrupt'), named('suspend'), named('redraw')]],
  ['\x15\x17', [named('eraseLine'), named('eraseWord')]],
  ['\x1b[1;5C\x1b[Z\x1ba\t\x01\x9b', []],
  ['\x1b\x1b[A', [named('escape'), named('up')]],
])('%j is read as keys', (text, keys) => {
  const reader = new KeyReader()
  expect(reader.read(text)).toEqual(keys)
  expect(reader.isUnsure).toBe(false)
})

test('an Escape is one when nothing follows', () => {
  const reader = new KeyReader()
  expect(reader.read('\x1b')).toEqual([])
  expect(reader.isUnsure).toBe(true)
  expect(reader.settle()).toEqual([named('escape')])
  expect(reader.read('a')).toEqual([typed('a')])
})

test('a key that comes in pieces is one key', () => {
  const reader = new KeyReader()
  expect(reader.read('\x1b')).toEqual([])
  expect(reader.read('[')).toEqual([])
  expect(reader.read('Aj')).toEqual([named('up'), typed('j')])
})

test('half a sequence that nothing follows is no key', () => {
  const reader = new KeyReader()
  reader.read('\x1b[1')
  expect(reader.settle()).toEqual([])
})

test('what is pasted is text, whatever is in it, also in pieces', () => {
  const reader = new KeyReader()
  expect(reader.read('\x1b[200~a\rq\x03')).toEqual([])
  expect(reader.isUnsure).toBe(false)
  expect(reader.read('d\x1b[201~j')).toEqual([{ kind: 'pasted', text: 'a\rq\x03d' }, typed('j')])
})

test('what is pasted does not become commands because it is long', () => {
  const reader = new KeyReader()
  reader.read('\x1b[200~')
  for (let turn = 0; turn < 30; turn++) expect(reader.read('a'.repeat(10_000))).toEqual([])
  const keys = reader.read('\x1b[201~q')
  expect(keys.map(({ kind }) => kind)).toEqual(['pasted', 'typed'])
})
