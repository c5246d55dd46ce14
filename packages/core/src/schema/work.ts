/**
 * How much one check of one value may cost. Small schemas can ask for work without end (references that double at each
 * level, large programs on long text), and the value comes from the guest. A check is synchronous, so one counter serves.
 */
const budget = 2 ** 27
/** What following one reference costs, beside one step of a pattern's program on one character. */
const referenceCost = 64

let left = budget

export class TooMuchWork extends Error {}

export function startWork(): void {
  left = budget
}

export function spend(amount: number): void {
  left -= amount
  if (left < 0) throw new TooMuchWork()
}

export function spendReference(): void {
  spend(referenceCost)
}
