import { SallyportError } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import { describeFailedStart } from './failed-start.ts'

const dataDir = '/srv/data'
const own = { dataDir, worker: undefined }
const cause = new Error('EACCES: \x1b[31m\n/srv/key')

test('a worker that did not start is told with its log, and with what it says there', () => {
  const error = new SallyportError('worker_not_started', { cause })
  expect(describeFailedStart(error, own)).toMatch(
    /^worker_not_started: .* — who can act: operator\. See \/srv\/data\/gateway\/worker\.log, which says: EACCES: \\u\{1b\}\[31m\\u\{a\}\/srv\/key$/,
  )
  expect(describeFailedStart(new SallyportError('worker_not_started'), own)).toMatch(
    /See \/srv\/data\/gateway\/worker\.log$/,
  )
})

test.each([
  [{ path: '/run/w.sock' }, '/run/w.sock'],
  [{ host: '127.0.0.1', port: 7402 }, '127.0.0.1:7402'],
  [{ host: '::1', port: 7402 }, '[::1]:7402'],
])('one that somebody else starts is looked for there, at %j', (worker, place) => {
  const line = describeFailedStart(new SallyportError('worker_not_started'), { dataDir, worker })
  expect(line).toContain(`Somebody else starts it, to listen at ${place}; `)
  expect(line).not.toContain(dataDir)
})

test('nothing else is told with its cause', () => {
  const line = describeFailedStart(new SallyportError('port_taken', { cause }), own)
  expect(line).toBe('port_taken: The port is taken by another program. — who can act: operator.')
})
