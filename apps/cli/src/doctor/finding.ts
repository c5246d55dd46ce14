import type { Answer } from '@sallyport/protocol'

export type Check = Answer<'doctor.run'>['items'][number]

export function fine(id: string, text: string): Check {
  return { id, state: 'ok', text, who: null, next: null }
}

/** What the operator of this machine can mend by doing `next`. */
export function warning(id: string, text: string, next: string): Check {
  return { id, state: 'warning', text, who: 'operator', next }
}

export function problem(id: string, text: string, next: string): Check {
  return { id, state: 'problem', text, who: 'operator', next }
}
