/** Processes of a guest that nothing encloses: those of its terminal session, and those that carry its mark. */
import { readFileSync } from 'node:fs'
import { allProcesses } from './born-process.ts'

/** In the environment of the guest, and so of all that it starts, unless they shed it. */
export const markName = 'GUEST_MARK'

/** `session` undefined: its number may be another's by now. The mark is nobody else's. */
export function membersOf({
  session,
  mark,
}: {
  readonly session: number | undefined
  readonly mark: string
}): number[] {
  return allProcesses().filter(
    (pid) => (session !== undefined && isOfSession(pid, session)) || carries(pid, mark),
  )
}

function isOfSession(pid: number, session: number): boolean {
  const stat = textOf(pid, 'stat')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const hasEnded = fields[0] === 'Z' || fields[0] === 'X'
  return fields[3] === `${session}` && !hasEnded
}

function carries(pid: number, mark: string): boolean {
  return textOf(pid, 'environ').split('\0').includes(`${markName}=${mark}`)
}

/** Empty for what is gone, and for what is another user's, which a guest of ours is not. */
function textOf(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}
