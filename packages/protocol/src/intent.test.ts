import { expect, test } from 'vitest'
import { intentSchema } from './intent.ts'

const digest = `sha256:${'0'.repeat(64)}`
const call = {
  v: 1,
  id: 'int_1',
  iat: 1,
  exp: 2,
  startWithin: 15_000,
  aud: 'ins_1',
  act: 'call',
  executionId: 'exe_1',
  sessionId: 'ses_1',
  bindingHash: digest,
  connectionId: 'con_1',
  connectionRevision: 1,
  scope: 'org',
  endpointDigest: digest,
  endpointClear: { scheme: 'https', host: 'example.com', port: 443 },
  tool: 'echo',
  toolDigest: digest,
  argumentsDigest: digest,
  access: 'read',
  paramHeaders: [{ header: 'Region', path: ['region'] }],
  limits: { resultBytes: 1, callMs: 1, verifyWithinMs: 0 },
}

test('takes the order of a call', () => {
  expect(intentSchema.parse(call)).toEqual(call)
})

test.each<[string, Record<string, unknown>]>([
  ['another version', { v: 2 }],
  ['another act', { act: 'lease' }],
  ['a claim it does not know', { also: 1 }],
  ['a longer wait than 15 seconds', { startWithin: 15_001 }],
  ['no wait', { startWithin: 0 }],
  ['a time that is no whole number', { exp: 1.5 }],
  ['a digest of another kind', { toolDigest: 'sha512:00' }],
  ['a digest in capitals', { argumentsDigest: `sha256:${'A'.repeat(64)}` }],
  ['another scheme', { endpointClear: { scheme: 'ftp', host: 'h', port: 1 } }],
  ['a place with more', { endpointClear: { ...call.endpointClear, path: '/' } }],
  ['another access', { access: 'admin' }],
  ['limits of nothing', { limits: { resultBytes: 0, callMs: 1, verifyWithinMs: 0 } }],
  ['limits with more', { limits: { ...call.limits, more: 1 } }],
  ['no audience', { aud: undefined }],
  ['revision 0', { connectionRevision: 0 }],
])('refuses an order with %s', (_name, change) => {
  expect(intentSchema.safeParse({ ...call, ...change }).success).toBe(false)
})

test('a listing needs no tool, no arguments and no credential', () => {
  const { tool, toolDigest, argumentsDigest, access, paramHeaders, ...rest } = call
  expect(intentSchema.safeParse({ ...rest, act: 'list' }).success).toBe(true)
})
