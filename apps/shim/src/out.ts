/** The harness's side of stdout: one message, one line, one write. */
export interface Out {
  readonly write: (message: string) => void
  /** Calls back when everything until now was taken, and never when it was not. */
  readonly taken: (then: () => void) => void
}

/** `onBroken`: the harness takes nothing any more. */
export function harnessOut(onBroken: () => void): Out {
  const { stdout } = process
  let isBroken = false
  stdout.on('error', () => {
    if (!isBroken) onBroken()
    isBroken = true
  })
  return {
    write: (message) => {
      if (!isBroken) stdout.write(`${message}\n`)
    },
    taken: (then) => {
      stdout.write('', (error) => {
        if (!error && !isBroken) then()
      })
    },
  }
}
