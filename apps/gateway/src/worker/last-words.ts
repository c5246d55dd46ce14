import { readFileSync } from 'node:fs'

const longest = 300

/** Why a worker ended, by what stands in its log behind the first `from` bytes; empty when nothing can be read there. */
export function lastWords(logFile: string, from: number): string {
  const lines = readFrom(logFile, from).trim().split('\n')
  const told = lines.map(becauseOf).findLast((because) => because !== undefined)
  // Node says where it was before it says what it met.
  const met = lines.find((line) => /^\w*Error\b/.test(line))
  return (told ?? met ?? lines.at(-1) ?? '').slice(0, longest)
}

function readFrom(path: string, from: number): string {
  try {
    return readFileSync(path).subarray(from).toString('utf8')
  } catch {
    // That a worker ended is told also when nobody can say why.
    return ''
  }
}

function becauseOf(line: string): string | undefined {
  try {
    const because: unknown = JSON.parse(line).because
    return typeof because === 'string' ? because : undefined
  } catch {
    // Not a line of the worker's own.
    return undefined
  }
}
