type Optional<T> = {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}
type Required<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] }

/** Without the members that are undefined: they would not survive a seal. */
export function defined<T extends object>(given: T): Required<T> & Optional<T> {
  const kept = Object.entries(given).filter(([, value]) => value !== undefined)
  return Object.fromEntries(kept) as Required<T> & Optional<T>
}
