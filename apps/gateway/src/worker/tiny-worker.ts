/** For tests of the supervisor: a process that says hello as a worker does, and as `behaviour.json` beside it wants. */
import { randomUUID } from 'node:crypto'
import { appendFileSync, existsSync, fstatSync, readFileSync } from 'node:fs'
import { createServer } from 'node:tls'
import { parseArgs } from 'node:util'
import { release, SallyportError } from '@sallyport/protocol'
import { encodeFrame, type Hello, wireVersion } from '@sallyport/protocol/node'

const { values } = parseArgs({
  strict: false,
  options: { socket: { type: 'string' }, cert: { type: 'string' }, build: { type: 'string' } },
})
const flag = (name: string): string => String(values[name as keyof typeof values])
const behaviour: { release?: string; failAtStart?: boolean; notStarted?: string } = existsSync(
  'behaviour.json',
)
  ? JSON.parse(readFileSync('behaviour.json', 'utf8'))
  : {}

if (behaviour.failAtStart) throw new SallyportError('internal')

function thirdDescriptor(): string | null {
  try {
    return fstatSync(3).isFile() ? readFileSync(3, 'utf8') : null
  } catch {
    return null
  }
}

if (behaviour.notStarted) {
  console.log(JSON.stringify({ event: 'not_started', code: behaviour.notStarted }))
  process.exit(1)
}

const started = {
  pid: process.pid,
  environment: readFileSync('/proc/self/environ', 'utf8'),
  argv: process.argv.slice(2),
  third: thirdDescriptor(),
}
appendFileSync('started.jsonl', `${JSON.stringify(started)}\n`)

const hello: Hello = {
  wire: wireVersion,
  release: behaviour.release ?? release,
  build: flag('build'),
  role: 'worker',
  instance: randomUUID(),
  now: Date.now(),
  pid: process.pid,
}
const pem = readFileSync(flag('cert'))
const tls = { cert: pem, key: pem, ca: readFileSync('authority.pem'), requestCert: true }
createServer(tls, (socket) => {
  socket.on('error', () => {}).write(encodeFrame('hello', { ...hello, now: Date.now() }))
  socket.resume()
}).listen(flag('socket'), () =>
  console.log(JSON.stringify({ event: 'listening', instance: hello.instance })),
)

process.on('SIGTERM', () => process.exit(0))
// Whatever becomes of the test: this ends.
setTimeout(() => process.exit(1), 120_000)
