/** How much room text takes on a terminal, and how it is made to fit. For text that is escaped and not painted yet. */

import type { World } from '../world.ts'

/** Where there is no terminal somebody may still page through it in one. */
const widthWithoutTerminal = 100

/** Columns to keep within. */
export function pageWidth({ stdout }: Pick<World, 'stdout'>): number {
  return Math.max(20, stdout.columns ?? widthWithoutTerminal)
}

/** A letter with the marks that stand on it. */
const letters = /\P{M}\p{M}*|\p{M}+/gu

/** Columns; rather too many than too few, so that nothing runs on into the line below, where it could pass for ours. */
export function widthOf(text: string): number {
  let width = 0
  for (const char of text) width += widthOfChar(char)
  return width
}

function widthOfChar(char: string): number {
  const code = char.codePointAt(0) ?? 0
  if (code < 0x1100) return 1
  const isNarrowBlock = code >= 0x1e00 && code < 0x2e80
  return isNarrowBlock && !/\p{Extended_Pictographic}/u.test(char) ? 1 : 2
}

/** The beginning, with a mark where something was left out. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  return width < 1 ? '' : `${beginning(text, width - 1)}…`
}

export function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

/**
 * Lines that put together again are the text. Breaks after a space where there is one; never gives an empty list. Lines
 * behind the first may have another width.
 */
export function wrap(text: string, width: number, widthBehind = width): string[] {
  const lines: string[] = []
  let rest = text
  for (let room = width; ; room = widthBehind) {
    // One letter must go on, or there is no end.
    const most = beginning(rest, room) || beginning(rest, 2) || rest.slice(0, 1)
    if (most.length === rest.length) return [...lines, rest]
    const space = most.lastIndexOf(' ') + 1
    // A break in the first half would leave more air than text.
    const line = space > most.length / 2 ? most.slice(0, space) : most
    lines.push(line)
    rest = rest.slice(line.length)
  }
}

function beginning(text: string, width: number): string {
  let taken = ''
  let used = 0
  for (const [letter] of text.matchAll(letters)) {
    used += widthOf(letter)
    if (used > width) return taken
    taken += letter
  }
  return taken
}
