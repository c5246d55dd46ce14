/** What the model is told to do next after a call that was refused or failed: whether repeating helps, and who can act. */
import { type ErrorCode, type ErrorEntry, errors } from '@sallyport/protocol'

/** `executionId`: the one that the code is about, which may be an earlier one. */
export function nextStep(code: ErrorCode, executionId: string | null): string {
  return own[code]?.(executionId ?? 'ID') ?? generic(errors[code])
}

function generic(entry: ErrorEntry): string {
  const again = entry.retry ? 'Call again later.' : 'Do not repeat this call unchanged.'
  switch (entry.who) {
    case 'guest':
    case 'nobody':
      return again
    case 'owner':
      return `${again} Tell the user: the owner can change it.`
    case 'administrator':
      return `${again} Tell the user: an administrator can change it.`
    case 'operator':
      return `${again} Tell the user: the operator of Sallyport can change it.`
  }
}

const resolve = (id: string): string =>
  `\`sallyport executions resolve ${id} --applied --note TEXT\` (or \`--not-applied\`, \`--abandoned\`)`

/** Where a person has decided or must decide, what the table says of the code is not enough. */
const own: Partial<Record<ErrorCode, (executionId: string) => string>> = {
  approval_denied: () =>
    'Do not repeat this call. Tell the user that it was denied, and ask what to do instead.',
  approval_expired: () =>
    'Call again if it is still wanted. Tell the user first: the owner decides with `sallyport approvals watch`.',
  too_many_approvals: () =>
    'Call again when some of them are decided. Tell the user: the owner decides with `sallyport approvals watch`.',
  outcome_unknown: (id) =>
    `Do not repeat this call, nor try the same by another way. Tell the user: the owner finds out what became of it and says so with ${resolve(id)}. After that, call again with the same arguments: the answer says what was found.`,
  tool_outcome_unknown: (id) =>
    `Do not repeat this call before that. Tell the user: the owner finds out what became of the earlier call and says so with ${resolve(id)}.`,
  resolved_applied: () => 'Do not repeat this call. Go on as if it had succeeded.',
  resolved_not_applied: () => 'Call again if it is still wanted. That is a new call.',
  resolved_abandoned: () => 'Do not repeat this call before the user has said so.',
  answered_by_earlier: () => 'Do not ask for this outcome again.',
  already_collected: () =>
    'Do not ask for this outcome again. To have the call done once more, call the tool itself.',
  identical_in_flight: () => sameArguments,
  call_in_flight: () => sameArguments,
  not_found: () =>
    'Do not repeat this call unchanged. The execution id must be one of this session.',
}

const sameArguments = 'Call again later with the same arguments.'
