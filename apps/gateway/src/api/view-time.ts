/** ms since 1970 as RFC 3339. */
export function viewTime(ms: number): string {
  return new Date(ms).toISOString()
}

export function viewTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : viewTime(ms)
}
