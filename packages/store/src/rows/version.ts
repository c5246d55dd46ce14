/** Compare-and-swap works only when every change raises the version. */
export function mustRaise(version: number, expectedVersion: number): void {
  if (!(version > expectedVersion)) throw new TypeError('an update must raise the version')
}

/** A credential that breaks or is revoked keeps its version: its seal names it. */
export function mustNotLower(version: number, expectedVersion: number): void {
  if (!(version >= expectedVersion)) throw new TypeError('an update must not lower the version')
}
