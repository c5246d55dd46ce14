/** The agent clients: how each is started, and what each lets its model see of an answer. */
import { expect } from 'vitest'
import type { ClientRun, Job } from './client-run.ts'
import { startClaude } from './start-claude.ts'
import { startCodex } from './start-codex.ts'
import { startGemini } from './start-gemini.ts'
import { startOpencode } from './start-opencode.ts'
import { startPi } from './start-pi.ts'

/** How a result reaches the model: as it stands in the request that the client sends to its provider. */
interface Sees {
  text(text: string): unknown
  /** Of a text that is JSON and no object. */
  jsonText(text: string): unknown
  structure(value: unknown): unknown
  textAndStructure(text: string, value: unknown): unknown
  /** Of a tool. */
  error(text: string): unknown
  /** Of Sallyport: text, and the same as structure. */
  refusal(pattern: RegExp): unknown
  /** Of arguments that do not fit the schema that it was shown: Sallyport's refusal, unless the client looks first. */
  outsideSchema(field: string): unknown
  /** Of a tool that does not exist for the client. */
  readonly unknownTool: RegExp
}

export interface Agent {
  start(job: Job): Promise<ClientRun>
  /** What the client makes of the name of a tool of the server `lab`. */
  spell(tool: string): string
  readonly sees: Sees
}

/** What Sallyport says of arguments that do not fit. */
const refusedFor = (field: string) => new RegExp(`arguments_refused.*/${field}\\b`, 's')

const claudeText = (text: string) => ({ is_error: false, content: [{ type: 'text', text }] })
const claudeStructure = (value: unknown) => ({ is_error: false, content: JSON.stringify(value) })

const claude: Agent = {
  start: startClaude,
  spell: (tool) => `mcp__lab__${tool}`,
  sees: {
    text: claudeText,
    jsonText: claudeText,
    structure: claudeStructure,
    textAndStructure: (_text, value) => claudeStructure(value),
    error: (text) => ({ is_error: true, content: text }),
    refusal: (pattern) => ({ is_error: true, content: expect.stringMatching(pattern) }),
    outsideSchema: (field) => ({
      is_error: true,
      content: expect.stringMatching(refusedFor(field)),
    }),
    unknownTool: /No such tool available: mcp__lab__echo/,
  },
}

const wallTime = /^Wall time: [\d.]+ seconds\nOutput:/
const codexText = (text: string) => [
  { type: 'input_text', text: expect.stringMatching(wallTime) },
  { type: 'input_text', text },
]
const codexStructure = (value: unknown) =>
  expect.toSatisfy(
    (seen: string) => wallTime.test(seen) && seen.endsWith(`Output:\n${JSON.stringify(value)}`),
    'the structure alone',
  )

const codex: Agent = {
  start: startCodex,
  spell: (tool) => `mcp__lab__${tool}`,
  sees: {
    text: codexText,
    jsonText: codexText,
    structure: codexStructure,
    textAndStructure: (_text, value) => codexStructure(value),
    error: codexText,
    refusal: (pattern) => expect.stringMatching(pattern),
    outsideSchema: (field) => expect.stringMatching(refusedFor(field)),
    unknownTool: /unsupported call: mcp__lab__echo/,
  },
}

const asItIs = (text: string) => text

const opencode: Agent = {
  start: startOpencode,
  spell: (tool) => `lab_${tool}`,
  sees: {
    text: asItIs,
    jsonText: asItIs,
    structure: (value) => JSON.stringify(value),
    textAndStructure: asItIs,
    error: asItIs,
    refusal: (pattern) => expect.stringMatching(pattern),
    outsideSchema: (field) => expect.stringMatching(refusedFor(field)),
    unknownTool: /unavailable tool 'lab_echo'/,
  },
}

const quoted = (text: string) => ({
  output: `<untrusted_context>\n${text}\n</untrusted_context>`,
})

const gemini: Agent = {
  start: startGemini,
  spell: (tool) => `mcp_lab_${tool}`,
  sees: {
    text: quoted,
    // It takes such a text for a structured result, finds that it is none, and tells of a failure.
    jsonText: () => ({ error: expect.stringContaining('expected record') }),
    structure: () => ({}),
    textAndStructure: quoted,
    error: (text) => ({ error: expect.stringContaining(JSON.stringify({ type: 'text', text })) }),
    refusal: (pattern) => ({ error: expect.stringMatching(pattern) }),
    outsideSchema: (field) => ({ error: expect.stringContaining(`params/${field} must be`) }),
    unknownTool: /mcp_lab_echo.* not found/,
  },
}

const pi: Agent = {
  start: startPi,
  spell: (tool) => `mcp__lab__${tool}`,
  sees: {
    text: asItIs,
    jsonText: asItIs,
    structure: (value) => JSON.stringify(value, undefined, 2),
    textAndStructure: asItIs,
    error: asItIs,
    refusal: (pattern) => expect.stringMatching(pattern),
    outsideSchema: (field) => expect.stringContaining(`${field}: expected one of`),
    unknownTool: /Tool mcp__lab__echo not found/,
  },
}

export const agents = { claude, codex, opencode, gemini, pi } as const
export type AgentName = keyof typeof agents
