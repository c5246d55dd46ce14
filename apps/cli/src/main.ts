/** Composition root of the command line. */
import { randomBytes } from 'node:crypto'
import { runCommandLine } from './command-line.ts'

// The launcher's ipc channel closes when the launcher is gone, also after kill -9; listening must not keep us alive.
process.on('disconnect', () => process.exit(1))
process.channel?.unref()

// A reader that has seen enough (`| head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
})

process.exitCode = await runCommandLine(process.argv.slice(2), {
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  now: Date.now,
  random: randomBytes,
})
