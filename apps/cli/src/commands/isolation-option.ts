import { isolationClasses } from '@sallyport/protocol'
import { InvalidArgumentError } from 'commander'

export type IsolationClass = (typeof isolationClasses)[number]

/** For an option that may be given more than once. */
export function collectIsolation(
  value: string,
  before: readonly IsolationClass[] = [],
): IsolationClass[] {
  const found = isolationClasses.find((one) => one === value)
  if (!found) throw new InvalidArgumentError(`Allowed choices are ${isolationClasses.join(', ')}.`)
  return [...before, found]
}
