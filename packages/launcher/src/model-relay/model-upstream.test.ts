import { expect, test } from 'vitest'
import { judgeModelAddress, modelUpstream, originOf } from './model-upstream.ts'

test.each([
  ['anthropic', undefined, 'https://api.anthropic.com/v1/'],
  ['openai', undefined, 'https://api.openai.com/v1/'],
  ['google', undefined, 'https://generativelanguage.googleapis.com/v1beta/'],
  ['openai', 'https://Llm.Corp.example:8443/team/v1/', 'https://llm.corp.example:8443/team/v1/'],
  ['anthropic', 'https://proxy.example/claude', 'https://proxy.example/claude/v1/'],
  ['openai', 'http://127.0.0.1:11434/v1', 'http://127.0.0.1:11434/v1/'],
  ['openai', 'http://localhost:11434/v1', 'http://localhost:11434/v1/'],
  ['openai', 'http://[::1]:11434/v1', 'http://[::1]:11434/v1/'],
] as const)('%s at %s leads to %s', (provider, url, origin) => {
  expect(originOf(modelUpstream(provider, url))).toBe(origin)
})

test.each([
  'http://api.openai.com/v1',
  'http://10.0.0.1/v1',
  'https://user:pw@api.openai.com/v1',
  'https://api.openai.com/v1?key=K',
  'https://api.openai.com/v1#x',
  'https://api.openai.com//v1',
  'https://api.openai.com/%76',
  'ftp://api.openai.com/v1',
  'file:///etc/passwd',
  'api.openai.com',
])('%s is refused', (url) => {
  expect(() => modelUpstream('openai', url)).toThrow(
    expect.objectContaining({ code: 'bad_model_url' }),
  )
})

test('a name leads to this machine only when it is named as such, and to metadata never', () => {
  const far = modelUpstream('openai')
  const local = modelUpstream('openai', 'http://localhost:1/v1')
  const judged = ['8.8.8.8', '10.0.0.1', '127.0.0.1', '169.254.169.254', '::ffff:127.0.0.1']
  expect(judged.map((one) => judgeModelAddress(far, one))).toEqual([
    true,
    true,
    false,
    false,
    false,
  ])
  expect(judged.map((one) => judgeModelAddress(local, one))).toEqual([
    false,
    false,
    true,
    false,
    false,
  ])
})
