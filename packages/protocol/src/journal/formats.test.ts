/** What is kept and exported stays as it is: an export of today is verified by every later release. */
import { expect, test } from 'vitest'
import { readCheckpoint, signCheckpoint } from './checkpoint.ts'
import { findingKinds } from './finding.ts'
import { KeyRing } from './journal-key.ts'
import { JournalVerifier } from './journal-verifier.ts'
import { pageLine, readLine } from './line.ts'
import { batchOf, composePage } from './page.ts'
import { sampleSigner, start } from './sample-journal.ts'

const pageText =
  '{"v":1,"stream":"str_a","first":7,"previous":"sha256:0f","instance":"ins_a","at":1800000000000,' +
  '"batch":"sha256:be","events":[{"kind":"dispatching","at":1800000000000,"execution":"exe_a","sequence":1,' +
  '"sessionId":"ses_a","tool":"gr\\u00f6\\u202ee \\ud83d\\ude00 \\u0000 \\ud800"}]}'

const pageHash = 'sha256:8c92e5e0797d45b8d5e7ed38ebb73c179f36e8e941c1d85dc710ca27daa50748'

test('a page is this text, in ASCII, and its hash is over it', () => {
  const event = { kind: 'dispatching', at: start, execution: 'exe_a', sequence: 1 } as const
  const page = composePage({
    v: 1,
    stream: 'str_a',
    first: 7,
    previous: 'sha256:0f' as never,
    instance: 'ins_a',
    at: start,
    batch: 'sha256:be' as never,
    events: [{ ...event, sessionId: 'ses_a', tool: 'grö\u202ee 😀 \0 \ud800', code: undefined }],
  })
  expect(page).toEqual({ text: pageText, hash: pageHash })
})

test('stands in its line as it is', () => {
  const page = { stream: 'str_a', first: 7, last: 7, hash: pageHash, text: pageText }
  const line = pageLine(page)
  expect(line).toBe(`{"stream":"str_a","first":7,"last":7,"hash":"${pageHash}","page":${pageText}}`)
  expect(readLine(line)).toEqual({ kind: 'page', page, value: JSON.parse(pageText) })
})

test.each(['{"half":', 'not JSON', '{"two":\n"lines"}', ''])(
  'text that was damaged stands there as text: %j',
  (text) => {
    const page = { stream: 'str_a', first: 7, last: 7, hash: pageHash, text }
    const line = pageLine(page)
    expect(line).not.toContain('\n')
    expect(readLine(line)).toEqual({ kind: 'page', page, value: undefined })
  },
)

test('a batch is named by its intents, one a line', () => {
  expect(batchOf(['sha256:a', 'sha256:b'])).toBe(
    'sha256:1e8e6cd4f15dd04cef3446ed78c0e5ad20782d551738076d207d1dfc74ada9a5',
  )
})

const signed =
  'eyJhbGciOiJFZERTQSIsImtpZCI6IlVERFJlT1psMWlwWEFmcDl3WXNtMTNzREJNSzVvZy0tUVdkQmp6dWY2bzQifQ' +
  '.eyJ2IjoxLCJzZXF1ZW5jZSI6MiwicHJldmlvdXMiOiJzaGEyNTY6YWEiLCJhdCI6MTgwMDAwMDAwMDAwMCwicG9za' +
  'XRpb24iOjksImhlYWRzIjpbeyJzdHJlYW0iOiJzdHJfYSIsInNlcXVlbmNlIjo3LCJoYXNoIjoic2hhMjU2OjhjOTJ' +
  'lNWUwNzk3ZDQ1YjhkNWU3ZWQzOGViYjczYzE3OWYzNmU4ZTk0MWMxZDg1ZGM3MTBjYTI3ZGFhNTA3NDgifV19.q4Iq' +
  'jycSP_01J2ROmNOXZcfICGyz_ihzMZrgs_bFcy84Y0DHhWFuH6WBXt7uAPYaEoZue7-fUwTmSsrEZFSeBg'

test('a checkpoint is a JWS of this', () => {
  const signer = sampleSigner()
  const heads = [{ stream: 'str_a', sequence: 7, hash: pageHash }]
  const content = {
    v: 1,
    sequence: 2,
    previous: 'sha256:aa',
    at: start,
    position: 9,
    heads,
  } as const
  const jws = signCheckpoint(content, signer)
  expect(jws).toBe(signed)
  expect(signer.kid).toBe('UDDReOZl1ipXAfp9wYsm13sDBMK5og--QWdBjzuf6o4')
  const keys = new KeyRing()
  expect(keys.open(jws, 'checkpoints')).toEqual({ problem: 'key_unknown', kid: signer.kid })
  expect(keys.add(signer.kid, sampleSigner(2).jwk)).toBe(false)
  expect(keys.add(signer.kid, signer.jwk)).toBe(true)
  const opened = keys.open(jws, 'checkpoints')
  expect(opened).toEqual({ content })
  expect('content' in opened && readCheckpoint(opened.content)).toEqual(content)
  for (const changed of [jws.slice(0, -1), jws.replace(/.$/, '!'), `${jws}.`, '', 'a.b.c'])
    expect(keys.open(changed, 'streams')).toEqual({ problem: 'changed' })
  expect(keys.uses()).toEqual([{ kid: signer.kid, checkpoints: 1, streams: 0 }])
})

test('an export of the first release verifies', () => {
  const verifier = new JournalVerifier()
  for (const line of exported) verifier.add(line)
  expect(verifier.report()).toMatchObject({
    findings: [],
    checked: { streams: 1, pages: 2, events: 2, executions: 1, checkpoints: 1 },
  })
})

test('findings have these names', () => {
  expect(Object.keys(findingKinds).join(' ')).toBe(
    'unreadable_line cut_off key_changed key_unknown checkpoint_changed checkpoint_missing ' +
      'checkpoint_out_of_order checkpoint_unlinked stream_unsigned page_changed page_missing page_out_of_order ' +
      'page_repeated page_unlinked tail_missing stream_missing head_differs not_covered ' +
      'batch_differs execution_gap row_missing row_differs',
  )
})

const exported = [
  '{"journal":{"v":1,"at":1800000000000,"from":null}}',
  '{"key":{"kid":"UDDReOZl1ipXAfp9wYsm13sDBMK5og--QWdBjzuf6o4","jwk":{"kty":"OKP","crv":"Ed' +
    '25519","x":"iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w"},"at":1800000000000}}',
  '{"stream":"str_a","first":1,"last":1,"hash":"sha256:f148a007273fcb8b0c15ef0fb531e492f493' +
    'a194d6f3202f17662e19b03feebd","page":{"v":1,"stream":"str_a","first":1,"previous":null,"' +
    'instance":"ins_a","opening":"eyJhbGciOiJFZERTQSIsImtpZCI6IlVERFJlT1psMWlwWEFmcDl3WXNtMTN' +
    'zREJNSzVvZy0tUVdkQmp6dWY2bzQifQ.eyJ2IjoxLCJzdHJlYW0iOiJzdHJfYSIsImluc3RhbmNlIjoiaW5zX2Ei' +
    'fQ.LQdiBcJZVDiwmwb1k-2DBaIaojExNonxYW5oCQPUwMuxCKCUw12y4s8ndo5dPJCizHlYc1uWJlgH7uVYko-lB' +
    'g","at":1800000000000,"events":[{"kind":"dispatching","at":1800000000000,"execution":"ex' +
    'e_a","sequence":1,"tool":"search"}]}}',
  '{"stream":"str_a","first":2,"last":2,"hash":"sha256:e3e04d7a7b458e08eec8c664dadc786a2d8f' +
    '491ffda0a29bfa6bbd1e6d7cccd7","page":{"v":1,"stream":"str_a","first":2,"previous":"sha25' +
    '6:f148a007273fcb8b0c15ef0fb531e492f493a194d6f3202f17662e19b03feebd","instance":"ins_a","' +
    'at":1800000000000,"events":[{"kind":"succeeded","at":1800000000000,"execution":"exe_a","' +
    'sequence":2,"code":null,"notes":{"status":200}}]}}',
  '{"checkpoint":{"sequence":1,"at":1800000000000,"position":2,"jws":"eyJhbGciOiJFZERTQSIsI' +
    'mtpZCI6IlVERFJlT1psMWlwWEFmcDl3WXNtMTNzREJNSzVvZy0tUVdkQmp6dWY2bzQifQ.eyJ2IjoxLCJzZXF1ZW' +
    '5jZSI6MSwicHJldmlvdXMiOm51bGwsImF0IjoxODAwMDAwMDAwMDAwLCJwb3NpdGlvbiI6MiwiaGVhZHMiOlt7In' +
    'N0cmVhbSI6InN0cl9hIiwic2VxdWVuY2UiOjIsImhhc2giOiJzaGEyNTY6ZTNlMDRkN2E3YjQ1OGUwOGVlYzhjNj' +
    'Y0ZGFkYzc4NmEyZDhmNDkxZmZkYTBhMjliZmE2YmJkMWU2ZDdjY2NkNyJ9XX0.R3Bro4GFnmzHgNGFs5pcC5yRE1' +
    '-KjzWLMAyltbVw4sqLCebIbrmKHeqz_wapJ9kxk3G7RhGWsrrsQKMlVz7gBg"}}',
  '{"end":{"checkpoint":1}}',
]
