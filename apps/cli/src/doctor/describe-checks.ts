import { paintState, type Style } from '../print/style.ts'
import { cellText } from '../print/table.ts'
import type { Check } from './finding.ts'

/** One line each, and what to do below those that are not well. */
export function describeChecks(style: Style, items: readonly Check[]): string {
  return items
    .map(({ id, state, text, who, next }) => {
      const advice = [who === null ? '' : `who can act: ${who}.`, next ?? ''].join(' ').trim()
      const line = `${paintState(style, state)}  ${style.strong(cellText(id))}: ${cellText(text)}`
      return state === 'ok' || advice === '' ? line : `${line}\n    ${cellText(advice)}`
    })
    .join('\n')
}
