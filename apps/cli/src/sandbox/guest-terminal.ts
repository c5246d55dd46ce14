/** A terminal after a guest that was killed while it had it: agent programs draw on it, and did not come to putting it back. */
import { constants } from 'node:os'
import type { RunEnd } from '@sallyport/launcher'
import type { World } from '../world.ts'

/** How it reads lines is put back when this program ends; this is what was asked of it by escape sequences. */
const plain = [
  // The screen of before, without a jump of the cursor where it is the one that is shown.
  '\x1b[?1047l',
  // What a mouse, focus and pasting do, and in which way keys are told.
  '\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[<u\x1b[>4m',
  // The cursor, colours, and synchronized drawing.
  '\x1b[?2026l\x1b[?25h\x1b[0m',
].join('')

/** By whom it was asked to end: what then ends has tidied up, or had nothing to. */
const asked: readonly number[] = [
  constants.signals.SIGINT,
  constants.signals.SIGTERM,
  constants.signals.SIGHUP,
  constants.signals.SIGPIPE,
]

/** Nothing for a guest that ended by itself, and where there is no terminal. */
export function tidyTerminal({ stderr, env }: World, { reason, code }: RunEnd): void {
  if (stderr.isTTY !== true || env.TERM === 'dumb' || reason === 'guest_ended') return
  const number = code - 128
  if (reason === 'guest_killed' && asked.includes(number)) return
  const [name] = Object.entries(constants.signals).find(([, one]) => one === number) ?? []
  const isTold = reason === 'guest_killed' && name !== undefined
  stderr.write(`${plain}\r\n\x1b[J${isTold ? `The guest was killed: ${name}.\r\n` : ''}`)
}
