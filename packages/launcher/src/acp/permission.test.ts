import { expect, test } from 'vitest'
import { judgePermission, readPermission } from './permission.ts'

const judged = (
  toolCall: Record<string, unknown>,
  policy: Parameters<typeof judgePermission>[1] = 'allow-session-tools',
) => judgePermission(readPermission(toolCall), policy, ['lab__read'])

/** As the agents spell them, by what they were seen to send. */
const spelled = (server: string, tool: string): [string, Record<string, unknown>][] => [
  ['Claude Code', { name: `mcp__${server}__${tool}`, title: 'x', kind: 'other' }],
  ['Codex', { kind: 'execute', rawInput: { server, tool, arguments: {} } }],
  ['Codex, by its title', { kind: 'execute', title: `mcp.${server}.${tool}` }],
  ['Gemini CLI', { kind: 'other', title: `${tool} (${server} MCP Server)` }],
]

test.each([
  ...spelled('sallyport', 'lab__read'),
  ['OpenCode', { kind: 'other', title: 'sallyport_lab__read' }] as const,
])('a tool of the session is allowed to %s', (_, toolCall) => {
  expect(judged(toolCall)).toBe('allow')
  expect(judged(toolCall, 'ask')).toBe('ask')
  expect(judged(toolCall, 'deny')).toBe('reject')
})

test.each([...spelled('sallyport', 'lab__other'), ...spelled('evil', 'lab__read')])(
  'a tool that is not of the session is asked for, of %s, whatever kind it says it is',
  (_, toolCall) => {
    for (const kind of ['other', 'read', 'execute'])
      expect(judged({ ...toolCall, kind })).toBe('ask')
  },
)

test('what stays in the sandbox is allowed, and what may leave it is asked for', () => {
  for (const kind of ['read', 'edit', 'delete', 'move', 'search', 'execute', 'think'])
    expect(judged({ title: 'rm -rf /', kind, rawInput: { command: 'rm' } })).toBe('allow')
  for (const kind of ['fetch', 'other', 'switch_mode', 'unheard of', 7, undefined])
    expect(judged({ title: 'x', kind })).toBe('ask')
})

test('a request that says nothing is asked for', () => {
  expect(judged({})).toBe('ask')
  expect(readPermission({ title: 7, name: null, rawInput: [] })).toMatchObject({
    title: '',
    kind: 'other',
  })
})
