import { expect, test } from 'vitest'
import { anyIntentSchema, intentSchema } from './intent.ts'

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
  ['an execution id that would end its header', { executionId: 'exe_1"\r\n' }],
  ['revision 0', { connectionRevision: 0 }],
])('refuses an order with %s', (_name, change) => {
  expect(intentSchema.safeParse({ ...call, ...change }).success).toBe(false)
})

test('a listing needs no tool, no arguments and no credential', () => {
  const { tool, toolDigest, argumentsDigest, access, paramHeaders, ...rest } = call
  expect(intentSchema.safeParse({ ...rest, act: 'list' }).success).toBe(true)
})

const webhook = {
  v: 1,
  id: 'int_2',
  iat: 1,
  exp: 2,
  startWithin: 15_000,
  aud: 'ins_1',
  act: 'webhook',
  scope: 'org',
  endpointDigest: digest,
  endpointClear: { scheme: 'https', host: 'example.com', port: 443 },
  webhookId: 'whk_1',
  webhookVersion: 1,
  eventId: 'dlv_1',
  argumentsDigest: digest,
}

test('takes the order of a webhook, and of a call, by its act', () => {
  expect(anyIntentSchema.parse(webhook)).toEqual(webhook)
  expect(anyIntentSchema.parse(call)).toEqual(call)
})

test.each<[string, Record<string, unknown>]>([
  ['a tool', { tool: 'echo' }],
  ['a connection', { connectionId: 'con_1' }],
  ['a credential', { credentialDigest: digest }],
  ['no event', { eventId: undefined }],
  ['an event that would forge what is signed', { eventId: 'dlv.1' }],
  ['an event that would end its header', { eventId: 'dlv_1\r\n' }],
  ['no body', { argumentsDigest: undefined }],
  ['another act', { act: 'call' }],
])('refuses the order of a webhook with %s', (_name, change) => {
  expect(anyIntentSchema.safeParse({ ...webhook, ...change }).success).toBe(false)
})

const oauth = {
  v: 1,
  id: 'int_3',
  iat: 1,
  exp: 2,
  startWithin: 15_000,
  aud: 'ins_1',
  act: 'oauth_refresh',
  scope: 'org',
  endpointDigest: digest,
  endpointClear: { scheme: 'https', host: 'example.com', port: 443 },
  connectionId: 'con_1',
  connectionRevision: 1,
  credentialId: 'crd_1',
  credentialVersion: 3,
  credentialDigest: digest,
  credentialClear: {
    bearer: true,
    headerNames: [],
    oauth: {
      issuerHost: 'login.example.com',
      refreshable: true,
      expiresAt: 1,
      account: 'Alice',
      oauthScope: 'read',
    },
  },
}

test('takes the orders of OAuth', () => {
  expect(anyIntentSchema.parse(oauth)).toEqual(oauth)
  for (const act of ['oauth_begin', 'oauth_finish'])
    expect(anyIntentSchema.safeParse({ ...oauth, act, argumentsDigest: digest }).success).toBe(true)
})

test.each<[string, Record<string, unknown>]>([
  ['a tool', { tool: 'echo' }],
  ['limits', { limits: call.limits }],
  ['no connection', { connectionId: undefined }],
  [
    'more beside the seal',
    {
      credentialClear: {
        ...oauth.credentialClear,
        oauth: { ...oauth.credentialClear.oauth, token: 'x' },
      },
    },
  ],
  ['another act of its kind', { act: 'oauth_end' }],
])('refuses an order of OAuth with %s', (_name, change) => {
  expect(anyIntentSchema.safeParse({ ...oauth, ...change }).success).toBe(false)
})
