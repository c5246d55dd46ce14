/** Composition root of the command line. */
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { runCommandLine } from './command-line.ts'

// The launcher's ipc channel closes when the launcher is gone, also after kill -9; listening must not keep us alive.
process.on('disconnect', () => process.exit(1))
process.channel?.unref()

// A reader that has seen enough (`| head`) is no error. Who has something to put away is told as by a terminal that hangs up.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') terminalGone(error)
  else if (!process.emit('SIGHUP')) process.exit(0)
})
process.stderr.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') terminalGone(error)
})
// Whoever reads it hears of it themselves; when nobody does, there is nothing to be lost.
process.stdin.on('error', () => undefined)

/** What ends with a terminal that was hung up is told so by SIGHUP, and has to be put away first. */
function terminalGone(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EIO') throw error
}

process.exitCode = await runCommandLine(process.argv.slice(2), {
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  now: Date.now,
  random: randomBytes,
  signals: {
    on: (name, listener) => process.on(name as NodeJS.Signals, listener),
    off: (name, listener) => process.off(name as NodeJS.Signals, listener),
    raise: (name) => process.kill(name === 'SIGTSTP' ? 0 : process.pid, name),
  },
  // It rejects only when it is aborted.
  delay: (ms, signal) => delay(ms, undefined, { signal }).catch(() => undefined),
})
