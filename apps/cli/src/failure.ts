/** Why a command did not do what was asked: one line on stderr and an exit code. */
import { type ErrorCode, errors, escapeText, SallyportError } from '@sallyport/protocol'

export const exitCodes = {
  done: 0,
  refused: 1,
  usage: 2,
  unreachable: 3,
  notAllowed: 4,
  notFound: 5,
  conflict: 6,
} as const

interface FailureParts {
  readonly code: string
  readonly message: string
  readonly who: string
  readonly field?: string | undefined
  /** What to do now, as a sentence. */
  readonly next?: string | undefined
}

/** `code` is one of the error table, or of a later release's. */
export class Failure extends Error {
  readonly code: string
  readonly who: string
  readonly field: string | undefined
  readonly next: string | undefined

  constructor(parts: FailureParts) {
    super(parts.message)
    this.name = 'Failure'
    this.code = parts.code
    this.who = parts.who
    this.field = parts.field
    this.next = parts.next
  }
}

export function failure(
  code: ErrorCode,
  detail: { readonly field?: string; readonly next?: string } = {},
): Failure {
  return new Failure({ code, message: errors[code].text, who: errors[code].who, ...detail })
}

/** `what` is told instead of the table's sentence: the command line is the caller's own text. */
export function usageFailure(what: string, next?: string): Failure {
  return new Failure({ code: 'usage', message: what, who: errors.usage.who, next })
}

export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown
  if (thrown instanceof SallyportError)
    return failure(thrown.code, thrown.field === undefined ? {} : { field: thrown.field })
  // The text of a foreign error may quote a file that holds a secret; its name does not.
  const name = thrown instanceof Error ? thrown.name : typeof thrown
  return failure('internal', { field: name })
}

export function exitCodeOf(code: string): number {
  switch (code) {
    case 'usage':
      return exitCodes.usage
    case 'unreachable':
    case 'starting':
      return exitCodes.unreachable
    case 'not_allowed':
    case 'not_authenticated':
      return exitCodes.notAllowed
    case 'not_found':
    case 'no_such_tool':
      return exitCodes.notFound
    case 'conflict':
    case 'name_taken':
    case 'approval_settled':
    case 'not_unknown':
    case 'session_not_ended':
      return exitCodes.conflict
    default:
      return exitCodes.refused
  }
}

/** One line, without its end. The guest of the error table is, at a command line, whoever typed. */
export function describeFailure(found: Failure): string {
  const who = found.who === 'guest' ? 'you' : found.who
  const field = found.field === undefined ? '' : ` (field ${found.field})`
  const next = found.next === undefined ? '' : ` ${found.next}`
  const line = `${found.code}: ${found.message}${field} — who can act: ${who}.${next}`
  return escapeText(line.replace(/\s*\n\s*/g, ' '))
}
