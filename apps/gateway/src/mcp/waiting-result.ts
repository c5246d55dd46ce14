/**
 * What the model reads when the outcome has to be collected later. It is no failure, so it is a plain result; but a result
 * of a tool with an output schema must have structured content of that shape unless it is an error, and clients throw away
 * one that has not. So there it is marked as an error: that passes every client, and all of them show the model its text.
 */
import type { BoundTool, CallOutcome } from '@sallyport/core'

export type Waiting = Extract<CallOutcome, { kind: 'waiting' }>

/** A `CallToolResult` without era or identity. `collector`: how another tool that collects the outcome is called. */
export function waitingResult(
  waiting: Waiting,
  tool: Pick<BoundTool, 'outputSchema'>,
  collector: string | undefined,
): Record<string, unknown> {
  const { executionId } = waiting
  const message = sentences[waiting.for]
  const next = nextStep(waiting, collector)
  const text = `waiting: ${message}\nExecution: ${executionId}\nNext: ${next}`
  const content = [{ type: 'text', text }]
  if (tool.outputSchema !== null) return { content, isError: true }
  // Some clients show the model nothing but this, so it says the same.
  const structuredContent = { waiting: { for: waiting.for, message, executionId, next } }
  return { content, structuredContent }
}

function nextStep({ executionId, for: what }: Waiting, collector: string | undefined): string {
  const tell =
    what === 'person' ? 'Tell the user that an approval waits (`sallyport approvals watch`). ' : ''
  const or =
    collector === undefined ? '' : `, or call ${collector} with ${JSON.stringify({ executionId })}`
  return `${tell}To collect the outcome, call again with exactly the same arguments${or}. Do not try to reach the same by another way.`
}

const sentences: Record<Waiting['for'], string> = {
  person:
    'This is not an error. A person has been asked to approve this call and has not decided yet. Nothing was sent.',
  identical_call:
    'This is not an error. An identical earlier call has not ended yet, and this one waits for it. Nothing was sent for this one.',
  answer:
    'This is not an error. The call was sent and is still being carried out. It is not sent again.',
}
