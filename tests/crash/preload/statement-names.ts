/** Names for the statements of a transaction, from their text and parameters: what is written, and into which state. */
import { approvalStates, callerStates, executionStates } from '@sallyport/protocol'

const bodyKinds = ['arguments', 'result']

/** Statements that belong to no step of a call have names too; nobody plans for them. */
export function statementNames(sql: string, params: readonly unknown[]): string[] {
  const [verb = '', table = ''] =
    /^\s*(?:WITH[\s\S]*?\)\s*)?(INSERT INTO|UPDATE|DELETE FROM)\s+(\w+)/i.exec(sql)?.slice(1) ?? [
      '',
      '',
    ]
  const words = params.flat().filter((value) => typeof value === 'string')
  const among = (known: readonly string[]) => known.filter((state) => words.includes(state))
  switch (`${verb.toUpperCase()} ${table}`) {
    case 'INSERT INTO executions':
      return among(executionStates).map((state) => `execution+${state}`)
    case 'INSERT INTO approvals':
      return ['approval+pending']
    case 'INSERT INTO bodies':
      return among(bodyKinds).map((kind) => `body+${kind}`)
    case 'INSERT INTO journal_pages':
      return ['journal+']
    case 'UPDATE executions':
      return executionUpdate(sql, words, among)
    case 'UPDATE approvals':
      return among(approvalStates).map((state) => `approval→${state}`)
    default:
      return [verb ? `${verb.toLowerCase()} ${table}` : read(sql)]
  }
}

function executionUpdate(
  sql: string,
  words: readonly string[],
  among: (known: readonly string[]) => string[],
): string[] {
  if (sql.includes('result_digest =')) return among(executionStates).map((to) => `execution→${to}`)
  if (sql.includes('intent_digest =')) return ['execution→dispatching']
  // The states it may come from stand between blanks, in one text.
  if (/\bcaller =/.test(sql))
    return callerStates.filter((state) => words.includes(state)).map((to) => `caller→${to}`)
  return /SET gateway_instance\b/.test(sql) ? ['claim'] : ['update executions']
}

function read(sql: string): string {
  if (/^\s*BEGIN/i.test(sql)) return 'begin'
  if (/^\s*COMMIT/i.test(sql)) return 'commit'
  if (/^\s*ROLLBACK\s*$/i.test(sql)) return 'rollback'
  if (/advisory/.test(sql)) return 'hold keys'
  const [, table] = /\bFROM\s+(\w+)/.exec(sql) ?? []
  return table === undefined ? 'other' : `read ${table}`
}

const purposes: readonly (readonly [purpose: string, sign: RegExp])[] = [
  ['barrier', /^execution[→+]dispatching$/],
  ['outcome', /^execution→(?:succeeded|tool_error|not_sent|lost|unknown)$/],
  ['unknown', /^execution→unknown$/],
  ['ask', /^approval\+pending$/],
  ['decision', /^approval→(?:approved|denied)$/],
  ['resolution', /^execution→resolved$/],
  ['claim', /^claim$/],
  ['take-over', /^caller→attached$/],
  ['collection', /^caller→collected$/],
  ['leaving', /^caller→(?:detached|held_back)$/],
  ['end of approval', /^approval→(?:expired|cancelled)$/],
]

/** What a transaction with these statements is for; several things in a group commit. */
export function purposesOf(statements: Iterable<string>): string[] {
  const all = [...statements]
  return purposes.filter(([, sign]) => all.some((name) => sign.test(name))).map(([name]) => name)
}
