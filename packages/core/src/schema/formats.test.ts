import { expect, test } from 'vitest'
import { compileRoot } from './compile.ts'

const million = 1_000_000

test.each([
  ['date', '2026-11-30', '2026-13-01'],
  ['date-time', '2026-11-30T12:00:00Z', '2026-11-30 12:00'],
  ['time', '12:00:00Z', '25:00:00Z'],
  ['duration', 'P1D', '1 day'],
  ['email', 'a@example.com', 'a@'],
  ['hostname', 'example.com', '-a'],
  ['ipv4', '10.0.0.1', '10.0.0.256'],
  ['ipv6', '::1', ':::1'],
  ['uri', 'https://example.com/', 'example'],
  ['uri-reference', '/a?b', '\\\\'],
  ['uri-template', '/{a}', '/{'],
  ['uuid', '123e4567-e89b-12d3-a456-426614174000', '123e4567'],
  ['json-pointer', '/a~1b', '/a~'],
  ['relative-json-pointer', '0#', '#'],
  ['regex', '^a$', '('],
])(
  'an overlay asserts the format %s',
  (format, good, bad) => {
    const root = compileRoot({ properties: { a: { format } } }, 'overlay')
    expect(root.check({ a: good })).toBeUndefined()
    expect(root.check({ a: bad })).toEqual({ path: '/a', detail: `must be a ${format}` })
    for (const piece of [
      'a',
      '0',
      ':',
      '/',
      '.',
      '-',
      '1:',
      'a.',
      '%41',
      '{a}',
      ',a',
      '(',
      '@',
      '::',
      '1.1.',
    ])
      expect(root.check({ a: `${piece.repeat(million / piece.length)}\n` })).toBeDefined()
  },
  5000,
)
