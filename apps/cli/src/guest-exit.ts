/** What ran in a sandbox has ended: its exit code is ours, and there is nothing to say. */
export class GuestExit extends Error {
  readonly exitCode: number

  constructor(exitCode: number) {
    super(`the guest ended with ${exitCode}`)
    this.name = 'GuestExit'
    this.exitCode = exitCode
  }
}
