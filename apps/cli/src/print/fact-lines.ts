import { paintState, type Style } from './style.ts'
import { type Cell, cellText } from './table.ts'
import { pad, wrap } from './width.ts'

/** The name, the value (undefined: left out), and how the value is painted. */
export type Fact = readonly [
  name: string,
  value: Cell,
  paint?: ((style: Style, text: string) => string) | undefined,
]

/**
 * One thing, a name and a value a line, as `facts`; long values go on below themselves, so that no terminal breaks them at
 * its edge, where the rest could pass for another line of ours.
 */
export function factLines(style: Style, pairs: readonly Fact[], width: number): string[] {
  const told = pairs.filter(([, value]) => value !== undefined)
  const names = Math.max(...told.map(([name]) => name.length)) + 2
  const room = Math.max(8, width - names)
  return told.flatMap(([name, value, paint]) => {
    const painter = paint ?? (name === 'state' ? paintState : undefined)
    return wrap(cellText(value), room).map((line, at) => {
      const head = at === 0 ? style.dim(pad(name, names)) : ' '.repeat(names)
      return head + (painter ? painter(style, line) : line)
    })
  })
}

/** Text of several lines from outside, behind a margin. */
export function marginLines(text: string, width: number): string[] {
  return text
    .split(/\r?\n/)
    .flatMap((line) => wrap(cellText(line).replace(/^-$/, ''), Math.max(8, width - 2)))
    .map((line) => `| ${line}`)
}
