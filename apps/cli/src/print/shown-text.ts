import { escapeText } from '@sallyport/protocol'

/** More than any script stacks on one letter; a pile of them reaches into the lines above and below. */
const marksAtMost = 4
const runOfMarks = /(?<=([\p{L}\p{N}]?))[\p{Mn}\p{Me}]+/gu

/** Text from outside as it may stand on a terminal: in one line and in its own room. Marks without a letter would stand on ours. */
export function shownText(text: string): string {
  return escapeText(text).replace(runOfMarks, (marks, letter: string) =>
    [...marks].map((mark, at) => (letter && at < marksAtMost ? mark : code(mark))).join(''),
  )
}

const code = (char: string): string => `\\u{${char.codePointAt(0)?.toString(16)}}`
