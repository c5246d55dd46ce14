/**
 * Runs in the guest, around an agent that speaks ACP on its stdin and stdout: when the agent is killed it is started again,
 * and whoever speaks to it is told. It knows nothing, and reads nothing of what is said.
 * Arguments: COMMAND ARG…
 */
import { spawn } from 'node:child_process'
import { constants } from 'node:os'

const [command, ...given] = process.argv.slice(2)
const restartsAtMost = 3
let restarts = 0
/** @type {number | undefined} */
let agent
let isEnding = false

for (const name of ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP'])
  process.on(name, () => {
    if (name !== 'SIGINT') isEnding = true
    tell(agent, name)
  })

/** The agent and what it has started. @param {number | undefined} group @param {NodeJS.Signals} name */
function tell(group, name) {
  if (group === undefined) return
  try {
    process.kill(-group, name)
  } catch {
    // None of them is there any more.
  }
}

function start() {
  // In a group of its own, by which what it leaves is found.
  const child = spawn(command, given, { stdio: 'inherit', detached: true })
  agent = child.pid
  child.once('error', ({ code }) => {
    process.stderr.write(`${command}: ${code === 'ENOENT' ? 'not found' : code}\n`)
    process.exit(code === 'ENOENT' ? 127 : 126)
  })
  child.once('exit', (code, signal) => {
    if (isEnding) process.exit(0)
    // One that ends by itself wants to.
    if (signal === null || restarts >= restartsAtMost)
      process.exit(code ?? 128 + constants.signals[signal])
    // Else the answers to its calls would go to what is left of it.
    tell(child.pid, 'SIGKILL')
    restarts++
    // What the agent had begun to say ends here.
    process.stdout.write('\n{"jsonrpc":"2.0","method":"_sallyport/started_again"}\n')
    start()
  })
}

start()
