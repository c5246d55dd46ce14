/** Raised for flags that cannot be: exit code 2. */
export class UsageError extends Error {}
