/**
 * Runs in the guest, around its command: listens on the guest's own loopback and carries each connection to a socket of the
 * session. It listens before the command starts, knows nothing, and ends with the command's own code.
 * Arguments: PORT=SOCKET… -- COMMAND ARG…
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { constants } from 'node:os'

const words = process.argv.slice(2)
const dashes = words.indexOf('--')
const outlets = words.slice(0, dashes).map((word) => /^(\d+)=(.+)$/.exec(word)?.slice(1))
const [command, ...given] = words.slice(dashes + 1)

/** @param {string} path */
function carryTo(path) {
  return createServer({ allowHalfOpen: true }, (guest) => {
    const session = connect({ path, allowHalfOpen: true })
    for (const [from, to] of [
      [guest, session],
      [session, guest],
    ]) {
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroySoon())
      from.pipe(to)
    }
  })
}

for (const [port, path] of outlets)
  await once(carryTo(path).listen(Number(port), '127.0.0.1'), 'listening')

// Meant for the command, which gets them too: what it makes of them decides when this ends.
for (const name of ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP']) process.on(name, () => {})

const child = spawn(command, given, { stdio: 'inherit' })
child.once('error', ({ code }) => {
  process.stderr.write(`${command}: ${code === 'ENOENT' ? 'not found' : code}\n`)
  process.exit(code === 'ENOENT' ? 127 : 126)
})
child.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
