import { styleText } from 'node:util'
import type { World } from '../world.ts'

export interface Style {
  strong(text: string): string
  dim(text: string): string
  good(text: string): string
  warn(text: string): string
  bad(text: string): string
}

/** Colour only on a terminal, and never with NO_COLOR (no-color.org: set to anything but nothing). */
export function styleFor(world: World): Style {
  const colours = world.stdout.isTTY === true && !world.env.NO_COLOR
  const paint = (format: Parameters<typeof styleText>[0]) => (text: string) =>
    colours && text !== '' ? styleText(format, text, { validateStream: false }) : text
  return {
    strong: paint('bold'),
    dim: paint('dim'),
    good: paint('green'),
    warn: paint('yellow'),
    bad: paint('red'),
  }
}

const goodStates = new Set([
  'ok',
  'open',
  'active',
  'enabled',
  'published',
  'succeeded',
  'approved',
  'consumed',
  'up',
  'include',
])
const badStates = new Set([
  'problem',
  'failed',
  'unknown',
  'refused',
  'denied',
  'tool_error',
  'lost',
  'broken',
  'down',
  'unreachable',
  'unauthorized',
  'failing',
])

export function paintState(style: Style, state: string): string {
  if (goodStates.has(state)) return style.good(state)
  return badStates.has(state) ? style.bad(state) : style.warn(state)
}
