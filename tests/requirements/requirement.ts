/** One behaviour of the reference checklists, and where it is proved. */
export type Issue = 'A' | 'B' | 'C' | 'D' | 'later'

interface Behaviour {
  readonly id: string
  readonly text: string
}
export type Requirement =
  /** `tests`: `path › title`, both as they stand in the tree. */
  | (Behaviour & { readonly status: 'built'; readonly tests: readonly string[] })
  | (Behaviour & { readonly status: 'planned'; readonly issue: Issue })
  | (Behaviour & { readonly status: 'not_applicable'; readonly why: string })

export const built = (id: string, text: string, ...tests: string[]): Requirement => ({
  id,
  text,
  status: 'built',
  tests,
})
export const planned = (id: string, text: string, issue: Issue): Requirement => ({
  id,
  text,
  status: 'planned',
  issue,
})
export const notApplicable = (id: string, text: string, why: string): Requirement => ({
  id,
  text,
  status: 'not_applicable',
  why,
})
