/** /proc/PID/mountinfo. */
import type { SeenMount } from '@sallyport/protocol'

/** In the order in which they were mounted: of two at one place the later one is seen. */
export function parseMountInfo(text: string): SeenMount[] {
  return text.split('\n').filter(Boolean).map(parseLine)
}

function parseLine(line: string): SeenMount {
  const [before = '', after = ''] = line.split(' - ', 2)
  const [, , device, root, at, options] = before.split(' ')
  const [type, , ofFileSystem] = after.split(' ')
  if (!device || !root || !at || !options || !type) throw new Error(`a mount that reads ${line}`)
  return {
    at: unescaped(at),
    type,
    root: unescaped(root),
    device,
    options: options.split(','),
    sizeKiB: sizeIn(ofFileSystem ?? ''),
  }
}

/** Only blanks, line ends and backslashes are written that way. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  )
}

/** tmpfs tells its size as `size=65536k`. */
function sizeIn(options: string): number | null {
  const found = /(?:^|,)size=(\d+)k(?:,|$)/.exec(options)?.[1]
  return found === undefined ? null : Number(found)
}
