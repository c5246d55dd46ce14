/** The wall clock of this process goes wrong by a constant; its monotonic clock does not. */
export function skewClock(byMs: number): void {
  if (byMs === 0) return
  const { now } = Date
  const Real = Date
  Date.now = () => now() + byMs
  globalThis.Date = new Proxy(Real, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [Date.now()] : args, newTarget),
  })
}
