import { afterEach, beforeEach, expect, test } from 'vitest'
import { runWords } from '../testing/run-words.ts'
import { digest } from '../testing/sample-ids.ts'
import { ScriptedApi } from '../testing/scripted-api.ts'

let api: ScriptedApi
beforeEach(async () => {
  api = await new ScriptedApi().listen()
})
afterEach(() => api.close())

const run = (words: readonly string[]) =>
  runWords(words, { env: { SALLYPORT_URL: api.url, SALLYPORT_TOKEN: 't' } })

const added = { host: '10.0.0.0/8', port: null }
const here = { host: '2001:db8::1', port: 443 }
const coming = { host: 'docs.example.com', port: 8443 }

test('each place is listed by the name that takes it back, and what is not in force yet is told apart', async () => {
  const entries = [added, here, coming]
  const set = { revision: 5, inForce: 4, digest, entries, operator: [added], pending: [coming] }
  api.answer('denySet.show', set)
  const { stdout } = await run(['denied', 'list', '--json'])
  expect(JSON.parse(stdout)).toEqual({
    ...{ revision: 5, inForce: 4, digest },
    items: [
      { id: '10.0.0.0/8', state: 'in_force', ...added, added: true },
      { id: '[2001:db8::1]:443', state: 'in_force', ...here, added: false },
      { id: 'docs.example.com:8443', state: 'pending', ...coming, added: false },
    ],
  })
  const lines = (await run(['denied', 'list'])).stdout.split('\n')
  expect(lines[1]).toMatch(/^10\.0\.0\.0\/8 +in force +added$/)
  expect(lines[3]).toMatch(/^docs\.example\.com:8443 +pending +a connection, or our own$/)
  expect(lines[4]).toBe('3 places, revision 5; sandboxes that run have confirmed revision 4')
})
