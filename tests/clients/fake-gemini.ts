/** Gemini generateContent, as far as Gemini CLI uses it. */
import { geminiRules, refusalOf } from './fake-provider-rules.ts'
import { type Answer, type Decision, decide, type Json, type Turn } from './fake-script.ts'

interface Part {
  readonly text?: string
  readonly functionResponse?: { readonly response?: unknown }
}
interface FunctionDeclaration {
  readonly name: string
  readonly parametersJsonSchema?: unknown
}
export interface GenerateRequest extends Json {
  readonly contents: readonly { readonly role?: string; readonly parts?: readonly Part[] }[]
  readonly tools?: readonly { readonly functionDeclarations?: readonly FunctionDeclaration[] }[]
}

/** `stream`: what the path asked for. */
export function answerGenerate(
  request: GenerateRequest,
  newId: (prefix: string) => string,
  stream: boolean,
): Answer {
  const tools = (request.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? [])
  const refusal = refusalOf(
    tools.map(({ name, parametersJsonSchema: schema }) => ({ name, schema })),
    geminiRules,
  )
  if (refusal) {
    const error = { code: 400, status: 'INVALID_ARGUMENT', message: refusal }
    return { status: 400, json: { error } }
  }
  const decision = decide(
    readContents(request.contents),
    tools.map(({ name }) => ({ name })),
  )
  const answer = render(decision, newId('resp'))
  return { status: 200, decision, ...(stream ? { chunks: [answer] } : { json: answer }) }
}

function readContents(contents: GenerateRequest['contents']): Turn[] {
  return contents.flatMap(({ role, parts = [] }) =>
    parts.flatMap(({ text, functionResponse }): Turn[] => {
      if (functionResponse) return [{ result: functionResponse.response }]
      return role === 'user' && text !== undefined ? [{ prompt: text }] : []
    }),
  )
}

function render(decision: Decision, responseId: string): Json {
  const part =
    decision.kind === 'call'
      ? { functionCall: { name: decision.tool.name, args: decision.args } }
      : { text: decision.text }
  const content = { role: 'model', parts: [part] }
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 }
  const candidates = [{ index: 0, content, finishReason: 'STOP' }]
  return { candidates, usageMetadata, modelVersion: 'fake', responseId }
}
