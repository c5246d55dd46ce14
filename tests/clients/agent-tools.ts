/** What the upstream offers to agents: the usual tools, with a counter in words, and one that answers in every form. */
import { defaultTools, type ScriptedTool, text } from '../upstreams/scripted-upstream.ts'

/** In words: one of the clients takes a bare number for a broken structure. */
export const counterSays = (counter: number) => `The counter is at ${counter}.`

const counterTools: Record<string, NonNullable<ScriptedTool['run']>> = {
  counter_read: ({ state }) => text(counterSays(state.counter)),
  counter_add: ({ state, arguments: { by } }) => {
    state.effects++
    state.counter += Number(by)
    return text(counterSays(state.counter))
  },
}

/** Quotes, both forms of an accent, a character beyond 16 bits, what turns the text around, and nothing to be trimmed. */
export const awkwardText =
  'Line "one" \\ of <two> & \ttabs\n\u00e9 e\u0301 \u{1d11e} \u202eback\u202c \u200b\u{e0041}.'
export const awkwardStructure = { z: [awkwardText, null, true, 0.1, []], a: { '': 1e21, '1': -1 } }
export const jsonText = '[1, 2]'
const protocolError = { code: -32042, message: 'No "such" thing.', data: { why: 'because' } }

const answers = {
  text: text(awkwardText),
  json_text: text(jsonText),
  structure: { result: { content: [], structuredContent: awkwardStructure } },
  text_and_structure: text(awkwardText, { structuredContent: awkwardStructure }),
  error: text(awkwardText, { isError: true }),
  protocol_error: { error: protocolError },
} as const satisfies Record<string, ReturnType<NonNullable<ScriptedTool['run']>>>
export type AnswerForm = keyof typeof answers

const say: ScriptedTool = {
  name: 'say',
  description: 'Answers in the form that it is told.',
  inputSchema: {
    type: 'object',
    properties: { form: { type: 'string', enum: Object.keys(answers) } },
    required: ['form'],
  },
  run: ({ state, arguments: { form } }) => {
    state.effects++
    return answers[form as AnswerForm]
  },
}

export const agentTools: readonly ScriptedTool[] = [
  say,
  ...defaultTools.map((tool) => ({ ...tool, run: counterTools[tool.name] ?? tool.run })),
].map(({ run, ...tool }) => ({ ...tool, ...(run ? { run } : {}) }))
